#!/usr/bin/env bash
# Builds, writes the networks of bench/zoo, and prints the table "Row by row" of bench/journal.md.
# Arguments: names of networks.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh
install_packages "${build_packages[@]}" "${bench_packages[@]}" "${oracle_packages[@]}"
cmake --preset bench >/dev/null
cmake --build --preset bench --target stowage_cli
venv=build/bench/venv
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet onnx onnxruntime ethos-u-vela
"$venv/bin/python" bench/zoo/make.py build/zoo >/dev/null
"$venv/bin/python" bench/stream.py --stowage build/bench/stowage --zoo build/zoo --vela "$venv/bin/vela" "$@"
