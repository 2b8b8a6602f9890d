#!/usr/bin/env bash
# Plans $MODEL, holds it to $BUDGET, compares it with the model of the commit $BASE, and writes plan.json, plan.html and
# memory.md into a folder. The status is 1 if the budget or the growth is exceeded. It needs git and stowage, nothing of
# GitHub: without GITHUB_OUTPUT and GITHUB_STEP_SUMMARY it only prints.
set -euo pipefail
stowage=${STOWAGE:-stowage}
folder=${RUNNER_TEMP:-$(mktemp -d)}/stowage-memory
mkdir -p "$folder"
read -ra options <<<"${OPTIONS:-}"
options+=(--effort "${EFFORT:-1000}")
text=$folder/memory.md
status=0

"$stowage" plan "$MODEL" "${options[@]}" ${BUDGET:+--budget "$BUDGET"} -o "$folder/plan.json" -o "$folder/plan.html" \
  >"$folder/plan.txt" 2>"$folder/advice.txt" || status=$?
cat "$folder/plan.txt" "$folder/advice.txt"
[ "$status" -le 1 ] || exit "$status"
peak=$(sed -n 's/.*"peak": *\([0-9]*\).*/\1/p' <("$stowage" verify "$folder/plan.json" --json) | head -1)
{
  echo "### Memory of \`$MODEL\`: $peak bytes"
  echo
  if [ -n "${BUDGET:-}" ]; then
    head -1 "$folder/plan.txt"
    echo
    [ "$status" -eq 0 ] || sed 's/^stowage: /- /' "$folder/advice.txt"
    echo
  fi
} >"$text"

if [ -n "${BASE:-}" ]; then
  git cat-file -e "$BASE^{commit}" 2>/dev/null || git fetch -q --depth=1 origin "$BASE"
  # All of the base, since a model may have its weights in files beside it.
  git -C "$(git rev-parse --show-toplevel)" worktree add -q --detach --force "$folder/base" "$BASE"
  before=$folder/base/$(git ls-files --full-name "$MODEL")
  if [ -f "$before" ]; then
    "$stowage" plan "$before" "${options[@]}" -q -o "$folder/base.json" || [ $? -eq 1 ]
    growth=0
    "$stowage" diff "$folder/base.json" "$folder/plan.json" --markdown ${MAX_GROWTH:+--max-growth "$MAX_GROWTH"} \
      >>"$text" 2>"$folder/growth.txt" || growth=$?
    [ "$growth" -le 1 ] || { cat "$folder/growth.txt" >&2; exit "$growth"; }
    [ "$growth" -eq 0 ] || { printf '\n' && sed 's/^stowage: //' "$folder/growth.txt"; } | tee -a "$text"
    "$stowage" report "$folder/base.json" "$folder/plan.json" -o "$folder/difference.html"
    status=$((status > growth ? status : growth))
  else
    echo "The base has no such model." >>"$text"
  fi
  git worktree remove --force "$folder/base"
fi

if [ -n "${GITHUB_OUTPUT:-}" ]; then
  { echo "peak=$peak"; echo "text=$text"; echo "folder=$folder"; } >>"$GITHUB_OUTPUT"
fi
[ -z "${GITHUB_STEP_SUMMARY:-}" ] || cat "$text" >>"$GITHUB_STEP_SUMMARY"
exit "$status"
