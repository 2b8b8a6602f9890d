#!/usr/bin/env bash
# scripts/test_python.sh BUILD: builds the wheel with the libraries of a build, installs it in an environment of its
# own, and tests it there.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$PWD/$1
work=$build/python
rm -rf "$work/wheel" "$work/installed"
if [ ! -x "$work/tools/bin/python" ]; then
  python3 -m venv "$work/tools"
  "$work/tools/bin/pip" install -q --disable-pip-version-check 'nanobind>=2.4' 'scikit-build-core>=0.10'
fi
PATH=$work/tools/bin:$PATH pip wheel . -q --disable-pip-version-check --no-build-isolation --no-deps -w "$work/wheel" \
  -C cmake.define.STOWAGE_LIBRARY_DIR="$build" -C build-dir="$work/module"
python3 -m venv "$work/installed"
"$work/installed/bin/pip" install -q --disable-pip-version-check "$work"/wheel/stowage-*.whl pytest onnx pandas nbclient nbformat ipykernel
(cd "$work" && "$work/installed/bin/python" -m pytest -q -p no:cacheprovider "$OLDPWD/python/tests")
