#!/usr/bin/env bash
# scripts/races.sh BUILD [REPETITIONS]: runs the tests that start threads again and again, by default 100 times,
# with a build under ThreadSanitizer, and counts what it reports. For these tests alone, in a few minutes:
#   cmake --preset tsan -DSTOWAGE_RUNNER=OFF '-DSTOWAGE_TEST_FOLDERS=base;levels;pack;plan' -DSTOWAGE_TEST_OPTIONS=-O0
#   cmake --build --preset tsan --target stowage_tests
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
repetitions=${2:-100}
filters=(
  'Portfolio.TheLowestWins*:Portfolio.AThrow*:Exact.RepeatedSearches*:Rings.AreTheSame*'  # `auto`, `exact`, `from-peak`, `rings`
  'SideBySide.*:FromPeak.TheThreads*:FromPeak.AWave*:FromPeak.StoppedWhile*:FromPeak.Beaten*'
  'Ejection.Threads*'
  'Rectangle.ThePlanDoesNot*:Rectangle.TheClockCuts*:Rectangle.AnInterrupt*:Rectangle.AThrow*:Tuning.DoesNot*'
  'Pack.StoppedBefore*:Pack.StoppedLater*:Pack.CutAt*:Exact.Stopped*:FreeList.Stopped*:TwoStack.Stopped*:FromPeak.Told*:Levels.Stops*'
  'Effort.ThreadsAndLoad*:Effort.EveryStrategy*:Effort.SeveralMemories*'
)
mkdir -p "$build/races"
bad=0
for f in "${!filters[@]}"; do
  log=$build/races/$f.txt
  status=0
  OMP_NUM_THREADS=1 "$build/tests/stowage_tests" --gtest_filter="${filters[$f]}" --gtest_repeat="$repetitions" \
    >"$log" 2>&1 || status=$?
  passed=$(grep -c '^\[       OK \]' "$log" || true)
  failed=$(grep -c '^\[  FAILED  \] .* ms)$' "$log" || true)
  reports=$(grep -c '^WARNING: ThreadSanitizer' "$log" || true)
  echo "${filters[$f]}: $repetitions times, $passed tests passed, $failed failed, $reports reports ($log)"
  [ "$status" = 0 ] && [ "$passed" -ge "$repetitions" ] && [ "$reports" = 0 ] || bad=1
done
exit "$bad"
