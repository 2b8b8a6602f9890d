#!/usr/bin/env bash
# What folders include; the documents (lines, links, commands; the commands only where a release build is there);
# then clang-tidy over all sources, with the settings of .clang-tidy.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh
install_packages "${build_packages[@]}" "${test_packages[@]}" "${lint_packages[@]}"
scripts/check_tree.py
program=build/release/stowage
if [ -x "$program" ]; then scripts/check_docs.py --stowage "$program"; else scripts/check_docs.py; fi
[ -f build/asan/compile_commands.json ] || cmake --preset asan >/dev/null
cmake --build --preset asan --target generate_tflite
git ls-files 'src/*.cc' 'bench/*.cc' 'fuzz/*.cc' | grep -v '^bench/' \
  | xargs -P "$(nproc)" -n 1 clang-tidy-16 -p build/asan --quiet --warnings-as-errors='*'
