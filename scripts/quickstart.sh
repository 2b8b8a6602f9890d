#!/usr/bin/env bash
# On Debian 12: installs what is missing, builds stowage, and plans the example model.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh
install_packages "${build_packages[@]}"
cmake --preset release -DSTOWAGE_TESTS=OFF >/dev/null
cmake --build --preset release --target stowage_cli
echo
build/release/stowage plan examples/classifier.onnx -o build/classifier.plan.json
echo
echo "The plan is in build/classifier.plan.json. Plan a model of yours with:"
echo "    export PATH=$PWD/build/release:\$PATH"
echo "    stowage plan MODEL.onnx -o plan.json"
