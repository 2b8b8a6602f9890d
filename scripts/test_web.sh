#!/usr/bin/env bash
# Tests the page that plans in Chromium, where Node 20 and npm are there: with models, by keyboard, offline.
#   scripts/test_web.sh build/web/stowage.html build/release
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh
page=$(realpath "$1")
program=$(realpath "$2/stowage")
version=$(node --version 2>/dev/null | sed -E 's/^v([0-9]+)\..*/\1/')
if ! command -v npm >/dev/null || [ "${version:-0}" -lt 20 ]; then
  echo "without Node 20 and npm: the page is not tested"
  exit 0
fi
install_packages "${report_packages[@]}"
cd report-ui
[ -d node_modules ] || npm install --no-save --no-audit --no-fund --silent
node test/plan_page.mjs "$page" "$program" ../examples ../../shared/data
