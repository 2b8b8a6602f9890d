#!/usr/bin/env bash
# scripts/package.sh [--arch aarch64] [OUTPUT]: on Debian 12, makes build/package/stowage (or OUTPUT): one file that plans,
# checks, runs and writes C on any 64-bit Linux of the same processor. It is linked statically, with isl and the runner,
# whose kernels are the plain ones: Debian has no static oneDNN. Then it is tried in an empty root: a folder that holds
# nothing but it and two models.
#   --arch aarch64   on another processor: build/package-aarch64/stowage, with Debian's cross compiler and its libraries for
#                    arm64, which are unpacked beside it and not installed. It is tried in an emulator
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh
architecture=$(uname -m)
if [ "${1:-}" = --arch ]; then
  architecture=$2
  shift 2
fi
install_packages "${build_packages[@]}" binutils
most_bytes=16500000
build=build/package
tools=
emulator=()
options=()
link_options=
if [ "$architecture" != "$(uname -m)" ]; then
  [ "$architecture" = aarch64 ] || { echo "--arch $architecture: only aarch64 is built on another processor" >&2; exit 1; }
  install_packages "${aarch64_packages[@]}"
  build=build/package-aarch64
  unpack_aarch64_packages "$build/root" bookworm libfmt-dev libfmt9 libgmp-dev libisl-dev libxxhash-dev
  tools=aarch64-linux-gnu-
  emulator=(/qemu-aarch64-static)
  options=(--toolchain cmake/aarch64.cmake -DCMAKE_PREFIX_PATH="$PWD/$build/root/usr"
    -DCMAKE_CROSSCOMPILING_EMULATOR=qemu-aarch64-static)
  # Without it, gold's program for aarch64 finds no handler of an exception.
  link_options=-Wl,--eh-frame-hdr
fi
program=${1:-$build/stowage}

cmake --preset release -B "$build" "${options[@]}" -DSTOWAGE_TESTS=OFF -DSTOWAGE_STATIC=ON -DSTOWAGE_ONEDNN=OFF -DSTOWAGE_RUNNER=ON \
  -DSTOWAGE_ISL=ON -DCMAKE_EXE_LINKER_FLAGS="-Wl,--gc-sections -fuse-ld=gold -Wl,--icf=safe $link_options" \
  -DCMAKE_CXX_FLAGS="-ffunction-sections -fdata-sections" ${PACKAGE_OPTIONS:-} >/dev/null
cmake --build "$build" --target stowage_cli stowage_shell
[ "$build/stowage" -ef "$program" ] || cp "$build/stowage" "$program"
"${tools}strip" "$program"
file=$(readelf -d "$program" | grep -c NEEDED || true)
[ "$file" -eq 0 ] || { echo "$program needs libraries" >&2; exit 1; }
bytes=$(stat -c %s "$program")
echo "$program: $bytes bytes"
[ "$bytes" -le $most_bytes ] || { echo "expected at most $most_bytes" >&2; exit 1; }

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
cp "$program" "$root/stowage"
cp examples/classifier.onnx "$root/model.onnx"
cp fuzz/corpus/tflite/two_operators.tflite "$root/model.tflite"
[ -z "$tools" ] || cp "$(command -v qemu-aarch64-static)" "$root"
in_empty_root() {
  if [ "$(id -u)" -eq 0 ]; then chroot "$root" "${emulator[@]}" "$@"
  else unshare --user --map-root-user chroot "$root" "${emulator[@]}" "$@"; fi
}
in_empty_root /stowage --version
in_empty_root /stowage plan model.onnx -o /plan.json | grep -E '^(naive|peak|lower bound|gap)'
in_empty_root /stowage verify /plan.json --model /model.onnx
in_empty_root /stowage run /model.onnx --plan /plan.json --check --random-weights 1 | grep -E '^(memory|output)'
in_empty_root /stowage generate /model.onnx --stream --io rows --no-test -o /c | grep -E '^arena'
in_empty_root /stowage tflm model.tflite -o /planned.tflite | grep -E '^(naive|peak)'
in_empty_root /stowage inspect /planned.tflite
