#!/usr/bin/env bash
# Builds, installs the peer omnimalloc into a virtual environment of its own, writes the networks of bench/zoo if they
# are not there, and prints the packing tables of bench/.
# Arguments are those of bench/packing.py.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh
install_packages "${build_packages[@]}" "${bench_packages[@]}" "${oracle_packages[@]}"
cmake --preset bench >/dev/null
cmake --build --preset bench --target stowage_cli
venv=build/bench/venv
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet omnimalloc onnx onnxruntime || echo "packages could not be installed" >&2
[ -d build/zoo ] || "$venv/bin/python" bench/zoo/make.py build/zoo >/dev/null || echo "no networks of bench/zoo" >&2
"$venv/bin/python" bench/packing.py --stowage build/bench/stowage "$@"
