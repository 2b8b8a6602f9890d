#!/usr/bin/env bash
# scripts/test_consumer.sh BUILD: installs a build to a folder of its own, and builds and runs programs
# against the installed package: with its CMake package, and with pkg-config.
set -euo pipefail
cd "$(dirname "$0")/.."
prefix=$PWD/$1/installed
rm -rf "$prefix" "$1/consumer"
cmake --install "$1" --prefix "$prefix" >/dev/null
cmake -S tests/consumer -B "$1/consumer" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build "$1/consumer"
"$1/consumer/consumer"
"$1/consumer/packer"
# The packer alone is linked with its own library and those of the compiler.
ninja -C "$1/consumer" -t commands packer | tail -n 1 | grep -o '[^ ]*\(\.a\|\.so\)\b\|-l[^ ]*' | grep -v '/libstowage_pack\.a$' && {
  echo "test_consumer.sh: the packer links the libraries above" >&2
  exit 1
}
[ ! -x "$1/consumer/runner" ] || "$1/consumer/runner"

folder=$(dirname "$(find "$prefix" -name stowage.pc)")
# The libraries are used from where they are now; the files name where they would be.
flags=$(PKG_CONFIG_PATH=$folder pkg-config --define-variable=prefix="$prefix" --cflags --libs stowage)
# shellcheck disable=SC2086
g++ -std=c++20 tests/consumer/main.cc $flags -o "$1/consumer/with_pkg_config"
"$1/consumer/with_pkg_config"
flags=$(PKG_CONFIG_PATH=$folder pkg-config --define-variable=prefix="$prefix" --cflags --libs stowage-pack)
# shellcheck disable=SC2086
g++ -std=c++20 tests/consumer/packer.cc $flags -o "$1/consumer/packer_with_pkg_config"
"$1/consumer/packer_with_pkg_config"

# Whoever links the packer for C needs no C++, shared or static. Skipped if this build leaves it out.
[ -f "$folder/stowage-pack-c.pc" ] || exit 0
c_flags() { PKG_CONFIG_PATH=$folder pkg-config --define-variable=prefix="$prefix" "$@" stowage-pack-c; }
library=$(c_flags --variable=libdir)
warnings="-pedantic -Wall -Wextra -Wconversion -Wshadow -Werror"
# shellcheck disable=SC2046,SC2086
cc -std=c99 $warnings examples/pack.c $(c_flags --cflags --libs) -Wl,-rpath,"$library" -o "$1/consumer/pack_shared"
# shellcheck disable=SC2046,SC2086
cc -std=c99 $warnings examples/pack.c $(c_flags --cflags) "$library/libstowage_pack_c.a" -lm -o "$1/consumer/pack_static"
# shellcheck disable=SC2046,SC2086
c++ -std=c++17 -fno-exceptions -fno-rtti $warnings examples/pack_plain.cc $(c_flags --cflags --libs) \
  -Wl,-rpath,"$library" -o "$1/consumer/pack_plain"
for program in pack_shared pack_static; do
  "$1/consumer/$program" | grep -x 'cost 0, at least 0; peak 64'
  ! readelf -d "$1/consumer/$program" | grep 'libstdc++'
done
"$1/consumer/pack_plain" | grep -x 'bytes left 0'
python3 examples/pack_ctypes.py "$library/libstowage_pack_c.so.1" | grep -x 'cost 0'
# It shows what the header declares, and nothing else.
diff <(nm -D --defined-only "$library/libstowage_pack_c.so.1" | sed -n 's/.* T \([a-z_]*\)@@STOWAGE_PACK_1$/\1/p' | sort) \
  <(grep -o '\bstowage_pack_[a-z_]*(' include/stowage_pack.h | tr -d '(' | sort -u)
size=$(stat -c %s "$library/libstowage_pack_c.a")
[ "$size" -le 1048576 ] || { echo "test_consumer.sh: the archive has $size bytes, expected at most 1048576" >&2; exit 1; }
