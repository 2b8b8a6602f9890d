#!/usr/bin/env bash
# scripts/fuzz.sh BUILD SECONDS: runs every fuzz target of a build for so long, from its corpus, as many side by side as
# there are processors.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
seconds=$2
fuzz() {  # TARGET
  local name found
  name=$(basename "$1")
  found=$build/fuzz/found/${name#fuzz_}
  mkdir -p "$found"
  echo "$name"
  "$1" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=20000 -verbosity=0 \
    -artifact_prefix="$found/" "$found" "fuzz/corpus/${name#fuzz_}"
}
export -f fuzz
export build seconds
# shellcheck disable=SC2016
find "$build/fuzz" -maxdepth 1 -name 'fuzz_*' -type f -executable | sort |
  xargs -P "$(nproc)" -I{} bash -euo pipefail -c 'fuzz "$1"' _ {}
