#!/usr/bin/env bash
# scripts/fuzz.sh BUILD SECONDS: runs every fuzz target of a build for so long, from its corpus.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
seconds=$2
for target in "$build"/fuzz/fuzz_*; do
  [ -x "$target" ] && [ -f "$target" ] || continue
  name=$(basename "$target")
  found=$build/fuzz/found/${name#fuzz_}
  mkdir -p "$found"
  echo "$name"
  "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=20000 -verbosity=0 \
    -artifact_prefix="$found/" "$found" "fuzz/corpus/${name#fuzz_}"
done
