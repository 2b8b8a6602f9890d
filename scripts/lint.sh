#!/usr/bin/env bash
# Whether each header and each file of the tests compiles on its own, and clang-tidy over all sources, each on its
# own too, with the settings of .clang-tidy. Builds that compile several files at once would not notice a missing
# include.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh
install_packages "${build_packages[@]}" "${test_packages[@]}" "${lint_packages[@]}"
cmake --preset asan -B build/lint -DCMAKE_UNITY_BUILD=OFF -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >/dev/null
cmake --build build/lint --target generate_tflite
git ls-files 'include/*.h' 'src/*.h' 'tests/*.h' 'tests/*.cc' | grep -v '^tests/consumer/' \
  | xargs -P "$(nproc)" -n 1 clang++-16 -x c++ -std=c++20 -fsyntax-only -Wall -Wextra -Wconversion -Wshadow -Werror \
    -Wno-pragma-once-outside-header -Wno-unused-const-variable -Iinclude -Isrc -Itests -isystem build/lint/generated \
    -isystem /usr/include/gemmlowp -DFMT_SHARED -DONNX_ML=1 -DONNX_NAMESPACE=onnx -DSTOWAGE_PROGRAM='""' \
    -DSTOWAGE_DATA_DIR='""' -DSTOWAGE_EXAMPLES='""' -DSTOWAGE_ORACLE='""' -DSTOWAGE_ORACLE_DATA='""'
git ls-files 'src/*.cc' 'fuzz/*.cc' \
  | xargs -P "$(nproc)" -n 1 clang-tidy-16 -p build/lint --quiet --warnings-as-errors='*'
