#!/usr/bin/env bash
# Builds, installs the peer omnimalloc into a virtual environment of its own, and prints bench/README.md's packing table.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh
install_packages "${build_packages[@]}" "${bench_packages[@]}"
cmake --preset bench >/dev/null
cmake --build --preset bench --target stowage_cli
venv=build/bench/venv
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet omnimalloc || echo "omnimalloc could not be installed" >&2
"$venv/bin/python" bench/packing.py --stowage build/bench/stowage "$@"
