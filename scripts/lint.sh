#!/usr/bin/env bash
# What folders include; the documents (lines, links; commands where a release build is there); whether each header
# and each file of the tests compiles on its own, for builds that compile several files at once would not notice
# a missing include; and clang-tidy over all sources, each on its own too, with the settings of .clang-tidy.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh
install_packages "${build_packages[@]}" "${test_packages[@]}" "${lint_packages[@]}"
scripts/check_tree.py
program=build/release/stowage
if [ -x "$program" ]; then scripts/check_docs.py --stowage "$program"; else scripts/check_docs.py; fi
cmake --preset asan -B build/lint -DCMAKE_UNITY_BUILD=OFF -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >/dev/null
cmake --build build/lint --target generate_formats
git ls-files 'include/*.h' 'src/*.h' 'tests/*.h' 'tests/*.cc' | grep -v '^tests/consumer/' \
  | xargs -P "$(nproc)" -n 1 clang++-16 -x c++ -std=c++20 -fsyntax-only -Wall -Wextra -Wconversion -Wshadow -Werror \
    -Wno-pragma-once-outside-header -Wno-unused-const-variable -Iinclude -Isrc -Itests -Itests/support \
    -isystem build/lint/generated -isystem /usr/include/gemmlowp -DFMT_SHARED -DONNX_ML=1 -DONNX_NAMESPACE=onnx \
    -DSTOWAGE_PROGRAM='""' -DSTOWAGE_DATA_DIR='""' -DSTOWAGE_DOCS='""' -DSTOWAGE_EXAMPLES='""' \
    -DSTOWAGE_ORACLE='""' -DSTOWAGE_ORACLE_DATA='""'
git ls-files 'src/*.cc' 'fuzz/*.cc' \
  | xargs -P "$(nproc)" -n 1 clang-tidy-16 -p build/lint --quiet --warnings-as-errors='*'
