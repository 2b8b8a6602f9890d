#!/usr/bin/env bash
# On Debian 12: installs what the tests need, builds, and runs all tests.
#   scripts/test.sh          cases of other programs to compare with, all tests with GCC, the installed
#                            package, the Python package, the page of reports, the action of CI, the commands
#                            of the documents; with clang under address and undefined-behaviour sanitizers,
#                            tests of all that reads files, checks plans or runs networks, and a few seconds
#                            of fuzzing
#   scripts/test.sh --long   also all random cases of all tests, all tests under sanitizers, the large networks
#                            in all their plans, a campaign of 24 000 random cases, a million mutants of ONNX
#                            files, the thread sanitizer and 100 repetitions of the tests that start threads,
#                            clang-tidy, ten minutes per fuzzer, the files of a release (the static file in an
#                            empty root, the package, a wheel, the source), the page that plans, in a browser,
#                            files for package managers, and other processors in an emulator
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh
long=false
folders=""  # whose tests are built; all if empty
c_library=ON
sanitized=()  # options of the sanitized build
case "${1:-}" in
  "") ;;
  --long) long=true ;;
  *) echo "usage: scripts/test.sh [--long]" >&2; exit 2 ;;
esac

# Where ccache is there, what was compiled before in whichever clone is taken from it.
if command -v ccache >/dev/null; then
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
  export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
fi

step() { printf '\n== %s (%d s)\n' "$1" "$SECONDS"; }

build() {  # PRESET TARGET...
  cmake --preset "$1" -DSTOWAGE_TESTS=ON -DSTOWAGE_TEST_FOLDERS="$folders" -DSTOWAGE_PACK_C=$c_library \
    "${sanitized[@]}" >/dev/null  # quickstart: no tests
  cmake --build --preset "$1" --target "${@:2}"
}

# A few processes for all tests, not one for each: a start takes longer than most of them. Of 32 the last ones
# end at about the same time.
run_tests_at_once() {  # PRESET [SECONDS]
  local shards=32 most=${2:-1200}
  seq 0 $((shards - 1)) | OMP_NUM_THREADS=1 GTEST_TOTAL_SHARDS=$shards xargs -P "$(nproc)" -I{} \
    env GTEST_SHARD_INDEX={} timeout "$most" "build/$1/tests/stowage_tests" --gtest_brief=1
}

mkdir -p build
step "packages"
install_packages "${build_packages[@]}" "${test_packages[@]}"

step "format, walls between folders, and the list of models"
git ls-files '*.cc' '*.h' | xargs clang-format-16 --dry-run -Werror
scripts/check_tree.py
bench/models/corpus.py

step "GCC, release, and cases of other programs"
scripts/oracles.sh >build/oracles.txt 2>&1 &
oracles=$!
TIMEFORMAT="compilers took %U s of processors"
time build release all
scripts/check_tree.py --objects build/release
scripts/check_docs.py --stowage build/release/stowage
wait "$oracles" || { cat build/oracles.txt; exit 1; }
run_tests_at_once release
ctest --preset release -R '^Example\.'

# These wait most of the time, so they run beside the build that follows.
around_the_program() {
  step "campaign"
  ctest --preset release -R '^Campaign$'
  step "page of reports"
  scripts/test_report.sh build/release
  step "installed package"
  scripts/test_consumer.sh build/release
  step "action of CI"
  scripts/test_action.sh build/release/stowage
  step "commands of the documents"
  scripts/check_commands.py build/release/stowage
  step "Python package"
  scripts/test_python.sh build/release
  step "documents as a site"
  scripts/site.sh
  step "around the program: done"
}
around_the_program >build/around.txt 2>&1 &
around=$!

step "clang, address and undefined-behaviour sanitizers"
export ASAN_OPTIONS=malloc_context_size=8  # callers of an allocation in a report; 30 take a tenth of the time
campaign=stowage_campaign
if $long; then
  sanitized=(-DSTOWAGE_TEMPLATE_OPTIONS=)  # ten minutes of fuzzing are worth optimised readers
else
  folders="base;check;import;kernels;model;run"
  c_library=OFF
  campaign=
  # Within a second, fuzzers are led by blocks alone: comparisons take a tenth of the build, and calls in all tests.
  sanitized=(-DSTOWAGE_PLANNER_OPTIONS="-fsanitize-coverage=inline-8bit-counters,pc-table")
fi
# shellcheck disable=SC2086
build asan stowage_tests $campaign fuzzers
wait "$around" || { cat build/around.txt; exit 1; }
cat build/around.txt
run_tests_at_once asan
if $long; then
  seq 1 2 | xargs -P "$(nproc)" -I{} \
    build/asan/tests/campaign/stowage_campaign --cases 100 --seed {} --folder build/campaign
fi
folders=""
c_library=ON
sanitized=()

step "fuzzing"
if $long; then scripts/fuzz.sh build/asan 600; else scripts/fuzz.sh build/asan 1; fi

if $long; then
  step "all cases of all tests, but for those that need a quiet machine"
  GTEST_FILTER='-Portfolio.WithLittleTime*' STOWAGE_LONG=1 run_tests_at_once release 14400
  step "short limits"
  STOWAGE_LONG=1 build/release/tests/stowage_tests --gtest_filter='Portfolio.WithLittleTime*'
  step "large networks in all their plans, and all lists, under sanitizers"
  STOWAGE_LONG=1 build/asan/tests/stowage_tests --gtest_filter='Models/RunData*:Dsa.*:Data.*'
  step "a million mutants of ONNX files"
  seq 1 4 | xargs -P "$(nproc)" -I{} build/asan/fuzz/mutate_onnx 250000 {} \
    /usr/share/libonnx-testdata/data/node build/oracle/data examples
  step "campaign"
  seq 1 6 | xargs -P "$(nproc)" -I{} \
    build/release/tests/campaign/stowage_campaign --cases 4000 --seed {} --folder build/campaign
  step "clang, thread sanitizer"
  build tsan all
  ctest --preset tsan
  scripts/races.sh build/tsan 100
  step "clang-tidy"
  scripts/lint.sh
  if [ -z "$(git status --porcelain)" ]; then
    step "the files of a release"
    scripts/release.sh
    page=$(ls build/release-files/stowage-*.html)
  else
    step "the static file and the page that plans: the tree has changes, which no release has"
    scripts/package.sh
    scripts/web.sh
    page=build/web/stowage.html
  fi
  scripts/test_web.sh "$page" build/release
  step "files for package managers"
  scripts/test_packaging.sh
  step "other processors"
  scripts/cross.sh
fi
step "done"
