#!/usr/bin/env bash
# scripts/package.sh [OUTPUT]: on Debian 12, makes build/package/stowage (or OUTPUT): one file that plans, checks and
# inspects on any 64-bit Linux of the same processor. It is linked statically and has no runner and no isl. Then it is
# tried in an empty root: a folder that holds nothing but it and two models. The same objects linked as usual must
# need no library but the C++ runtime.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh
install_packages "${build_packages[@]}" binutils
most_bytes=6000000
build=build/package
program=${1:-$build/stowage}

build_as() {  # STATIC
  cmake --preset release -B "$build" -DSTOWAGE_TESTS=OFF -DSTOWAGE_STATIC="$1" -DSTOWAGE_RUNNER=OFF -DSTOWAGE_ISL=OFF \
    -DCMAKE_EXE_LINKER_FLAGS="-Wl,--gc-sections -fuse-ld=gold -Wl,--icf=safe" -DCMAKE_CXX_FLAGS="-ffunction-sections -fdata-sections" >/dev/null
  cmake --build "$build" --target stowage_cli
}
build_as OFF
ldd "$build/stowage" | grep -vE '^\s*(linux-vdso|lib(stdc\+\+|m|gcc_s|c)\.so|/lib)' &&
  { echo "expected the C++ runtime only" >&2; exit 1; }
build_as ON
[ "$build/stowage" -ef "$program" ] || cp "$build/stowage" "$program"
strip "$program"
bytes=$(stat -c %s "$program")
echo "$program: $bytes bytes"
[ "$bytes" -le $most_bytes ] || { echo "expected at most $most_bytes" >&2; exit 1; }

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
cp "$program" "$root/stowage"
cp examples/classifier.onnx "$root/model.onnx"
cp fuzz/corpus/tflite/two_operators.tflite "$root/model.tflite"
in_empty_root() {
  if [ "$(id -u)" -eq 0 ]; then chroot "$root" "$@"; else unshare --user --map-root-user chroot "$root" "$@"; fi
}
in_empty_root /stowage --version
in_empty_root /stowage plan model.onnx -o /plan.json | grep -E '^(naive|peak|lower bound|gap)'
in_empty_root /stowage verify /plan.json --model /model.onnx
in_empty_root /stowage tflm model.tflite -o /planned.tflite | grep -E '^(naive|peak)'
in_empty_root /stowage inspect /planned.tflite
