#!/usr/bin/env bash
# Builds the page of reports from report-ui/ with npm, and puts it where the C++ build takes it from.
set -euo pipefail
cd "$(dirname "$0")/.."
(
  cd report-ui
  [ -d node_modules ] || npm install --no-save --no-audit --no-fund --silent
  npm run --silent build
)
cp report-ui/dist/index.html src/report/page.html
scripts/check_report.py --stamp
