#!/usr/bin/env bash
# Installs what is missing, builds, and prints the figures of bench/README.md and bench/journal.md.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh
install_packages "${build_packages[@]}" "${bench_packages[@]}"
cmake --preset bench >/dev/null
cmake --build --preset bench
build=build/bench
stowage=$build/stowage
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Median wall seconds and largest memory in MB of five runs.
measure() {
  for _ in 1 2 3 4 5; do /usr/bin/time -f '%e %M' "$@" 2>&1 >/dev/null | tail -n 1; done |
    sort -n | awk '{wall[NR] = $1; if ($2 > memory) memory = $2} END {printf "%.3f s, %.0f MB\n", wall[3], memory / 1024}'
}

data=../shared/data
model=$data/models/onnx/light_densenet121.onnx
if [ -f "$model" ]; then
  echo "== plan light_densenet121, process start to written plan"
  measure "$stowage" plan "$model" -o "$work/plan.json"
  "$stowage" plan "$model" | grep seconds
  echo "== packing benchmarks: one strategy after the other, peak over max load in percent"
  for file in "$data"/packing/*/*.csv; do
    printf '%-14s' "$(basename "$file" .csv)"
    for strategy in $("$stowage" strategies | cut -d' ' -f1 | grep -v -e auto -e rectangle); do
      printf ' %s' "$strategy $("$stowage" plan "$file" --strategy "$strategy" | awk '/^gap/ {print $2}')"
    done
    echo
  done
  echo "== packing benchmarks: rectangle with 10 s and 2 threads, peak over max load in percent, seconds"
  for file in "$data"/packing/*/*.csv; do
    "$stowage" plan "$file" --strategy rectangle --time-limit 10 --threads 2 |
      awk -v name="$(basename "$file" .csv)" '/^gap/ {gap = $2} /^seconds/ {print name, gap, $2}'
  done
  echo "== copies and peak by --alias"
  for name in densenet121 inception_v1 squeezenet; do
    for alias in none auto all; do
      "$stowage" plan "$data/models/onnx/light_$name.onnx" --alias "$alias" |
        awk -v name="$name $alias" '/^copies/ {copies = $0} /^peak/ {print name, copies, "peak", $2}'
    done
  done
  echo "== S_1, greedy-by-size, whole process"
  measure "$stowage" plan "$data/packing/idealloc/S_1.csv" --strategy greedy-by-size
  echo "== light_resnet50 with one thread, run in its plan and by ONNX Runtime"
  oracle=build/oracle/venv/bin/python
  if [ -x "$oracle" ]; then
    "$oracle" bench/run_resnet50.py "$build/bench/run_bench" "$data/models/onnx/light_resnet50.onnx"
  else
    echo "skipped: scripts/oracles.sh has not been run"
  fi
else
  echo "skipped: the benchmark models are not there"
fi

echo "== operator order: the zoo, and the models"
oracle=build/oracle/venv/bin/python
if [ -x "$oracle" ]; then
  "$oracle" -B bench/zoo/make.py "$work/zoo" >/dev/null
  "$build/bench/order_bench" "$work"/zoo/*.onnx
else
  echo "skipped: scripts/oracles.sh has not been run"
fi
if [ -d "$data/models" ]; then "$build/bench/order_bench" "$data"/models/onnx/*.onnx "$data"/models/tflite/*.tflite; fi

echo "== 1 000 000 generated buffers, greedy-by-size, whole process"
"$build/bench/generate" 1000000 >"$work/million.csv"
measure "$stowage" plan "$work/million.csv" --strategy greedy-by-size
echo "== growth of each strategy with the number of buffers"
"$build/bench/pack_bench" --benchmark_counters_tabular=true
