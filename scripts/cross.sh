#!/usr/bin/env bash
# scripts/cross.sh: on Debian 12, builds the planner without its optional parts for other processors, with Debian's
# cross compilers, and plans with it in an emulator.
#   aarch64: must plan exactly as the planner of this machine, build/release/stowage
#   s390x (big-endian), armhf (32 bits): must be refused when they are configured, with the reason
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh
install_packages "${build_packages[@]}" g++-aarch64-linux-gnu g++-s390x-linux-gnu g++-arm-linux-gnueabihf qemu-user-static
[ -x build/release/stowage ] || { echo "build/release/stowage is missing; scripts/quickstart.sh builds it" >&2; exit 1; }
headers=$PWD/build/cross/include
mkdir -p "$headers"

# Not optimised: what is tried is whether it plans the same. No library of the other processor is needed: fmt and
# xxHash are compiled in.
cp /usr/include/xxhash.h "$headers"
configure() {  # TRIPLE PROCESSOR
  cmake --preset release -DCMAKE_BUILD_TYPE=Debug -B "build/cross/$2" -DSTOWAGE_TESTS=OFF -DSTOWAGE_STATIC=ON -DSTOWAGE_RUNNER=OFF -DSTOWAGE_ISL=OFF \
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="$2" -DCMAKE_CXX_COMPILER="$1-g++" \
    -Dfmt_DIR="/usr/lib/$(g++ -print-multiarch)/cmake/fmt" \
    -DXXHASH_INCLUDE_DIR="$headers"
}

refuse() {  # TRIPLE PROCESSOR REASON
  if configure "$1" "$2" >build/cross/$2.txt 2>&1; then echo "$2: is not refused" >&2; exit 1; fi
  tr -s ' \n' ' ' <build/cross/$2.txt | grep -o "stowage runs on 64-bit little-endian hosts; $3"
}
refuse s390x-linux-gnu s390x "s390x has 64 bits and is BIG_ENDIAN"
refuse arm-linux-gnueabihf armv7 "armv7 has 32 bits and is LITTLE_ENDIAN"

configure aarch64-linux-gnu aarch64 >/dev/null
cmake --build build/cross/aarch64 --target stowage_cli
for model in examples/classifier.onnx fuzz/corpus/tflite/two_operators.tflite; do
  qemu-aarch64-static build/cross/aarch64/stowage plan "$model" -o build/cross/there.csv | grep '^peak'
  build/release/stowage plan "$model" -o build/cross/here.csv >/dev/null
  cmp build/cross/there.csv build/cross/here.csv
done
