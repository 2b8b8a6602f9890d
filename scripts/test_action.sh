#!/usr/bin/env bash
# scripts/test_action.sh STOWAGE: runs the steps of .github/actions/memory as GitHub would, in a repository of its own: a
# model that grows, a budget that is kept and one that is not, a growth that is allowed and one that is not, a clone
# without the base; and the job for GitLab of docs/ci.md.
set -euo pipefail
cd "$(dirname "$0")/.."
stowage=$(realpath "$1")
root=$PWD
action=$PWD/.github/actions/memory/memory.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git -C "$work" init -q tree
cd "$work/tree"
commit() { git add -A && git -c user.name=t -c user.email=t@localhost commit -qm "$1"; }
mkdir models
printf 'id,lower,upper,size\na,0,2,64\nb,1,3,32\n' >"models/net.csv"
commit before
base=$(git rev-parse HEAD)
printf 'id,lower,upper,size\na,0,2,64\nb,1,3,48\nc,1,2,4\n' >"models/net.csv"
commit after

run() {  # STATUS NAME=VALUE...
  local expected=$1 status=0
  shift
  rm -rf "$work/run" && mkdir "$work/run"
  env RUNNER_TEMP="$work/run" GITHUB_OUTPUT="$work/run/output" GITHUB_STEP_SUMMARY="$work/run/summary" \
    STOWAGE="$stowage" MODEL=models/net.csv EFFORT=100 "$@" "$action" >"$work/run/log" 2>&1 || status=$?
  [ "$status" -eq "$expected" ] || { cat "$work/run/log"; echo "status $status, expected $expected: $*" >&2; exit 1; }
}
expect() { grep -qF -- "$2" "$work/run/$1" || { cat "$work/run/$1"; echo "$1 lacks: $2" >&2; exit 1; }; }

run 0
expect output "peak=116"
expect summary 'Memory of `models/net.csv`: 116 bytes'
run 0 BUDGET=116 BASE="$base"
expect summary "within budget: net needs 116 bytes of 116"
expect summary "| **peak** | 96 | 116 |"
[ -s "$work/run/stowage-memory/plan.html" ] && [ -s "$work/run/stowage-memory/difference.html" ]
run 1 BUDGET=100
expect summary "over budget"
expect summary "may help"
run 1 BASE="$base" MAX_GROWTH=1%
expect summary "the peak grows by 20.83 %"
run 0 BASE="$base" MAX_GROWTH=25%
run 3 MODEL=models/none.csv
[ -z "$(git worktree list | tail -n +2)" ] || { git worktree list; exit 1; }

# actions/checkout clones the last commit alone.
git config uploadpack.allowAnySHA1InWant true
git clone -q --depth 1 "file://$work/tree" "$work/shallow"
cd "$work/shallow"
run 0 BASE="$base"
expect summary "| **peak** | 96 | 116 |"
run 0 BASE="$(git rev-parse HEAD)" MODEL=models/net.csv
expect summary "| **peak** | 116 | 116 |"

# GitLab: its variables, its artefacts, and a status that fails the job.
cd "$work/tree"
job=$(sed -n '/^## GitLab/,$ s/^    //p' "$root/docs/ci.md")
variables=$(sed -n 's/.*variables: {\(.*\)}$/\1/p' <<<"$job" | sed 's/, /\n/g; s/: /=/g' | sed "s|\$CI_PROJECT_DIR|$work/run|; s/^MODEL=.*/MODEL=models\/net.csv/")
script=$(sed -n 's/.*script: \(BASE=.*\) .*memory.sh$/\1/p' <<<"$job")
folder=$(sed -n 's/.*paths: \[\(.*\)\]}$/\1/p' <<<"$job")
gitlab() {  # BUDGET
  rm -rf "$work/run" && mkdir "$work/run"
  (
    while read -r it; do export "${it?}"; done <<<"$variables"
    export CI_MERGE_REQUEST_DIFF_BASE_SHA=$base STOWAGE=$stowage EFFORT=100 BUDGET=$1
    eval "$script $action"
  ) >"$work/run/log" 2>&1
}
if gitlab 720KiB; then echo "the job of GitLab ends with 0, though the peak grows by 21 %" >&2; exit 1; fi
expect "$folder/memory.md" "the peak grows by 20.83 %"
for file in plan.json plan.html difference.html; do
  [ -s "$work/run/$folder/$file" ] || { cat "$work/run/log"; echo "the job of GitLab keeps no $file" >&2; exit 1; }
done
python3 - "$action" <<'END'
import pathlib, sys
text = pathlib.Path(sys.argv[1]).with_name("action.yml").read_text()
try:
    import yaml
except ImportError:
    sys.exit()
action = yaml.safe_load(text)
assert action["runs"]["using"] == "composite" and {"model", "budget", "max-growth"} <= set(action["inputs"])
END
echo "the steps of the action do what they should"
