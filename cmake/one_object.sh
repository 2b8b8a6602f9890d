#!/bin/sh
# Makes an archive of one object from objects of C++ and what they need of its library. All symbols are local except those
# that a version script names, and have short names.
#
# usage: one_object.sh COMPILER OBJCOPY NM AR VERSION_SCRIPT ARCHIVE OBJECT..
set -eu
compiler=$1 objcopy=$2 nm=$3 ar=$4 script=$5 archive=$6
shift 6
folder=$(dirname "$0")
object=${archive%.a}.o
names=$(sed -n 's/^ *\([a-z_]*\);$/\1/p' "$script")
keep=
for name in $names; do keep="$keep -Wl,-u,$name"; done
# shellcheck disable=SC2086
"$compiler" -r -nostdlib -o "$object" -Wl,--gc-sections -Wl,--force-group-allocation "-Wl,-T,$folder/one_object.ld" \
  $keep "$@" "$("$compiler" -print-file-name=libstdc++.a)"
for name in $names; do echo "$name"; done > "$object.names"
"$objcopy" --keep-global-symbols="$object.names" --strip-unneeded "$object"
"$nm" "$object" | awk '$2 ~ /^[a-z]$/ && $2 != "w" && $3 ~ /^_Z/ && !seen[$3]++ {print $3, "s" ++n}' > "$object.names"
"$objcopy" --redefine-syms="$object.names" "$object"
rm -f "$archive" "$object.names"
"$ar" rcs "$archive" "$object"
rm "$object"
