#!/usr/bin/env bash
# Builds the page of reports and the page that plans from report-ui/ with npm, and puts them where the C++ build and
# scripts/web.sh take them from.
set -euo pipefail
cd "$(dirname "$0")/.."
(
  cd report-ui
  [ -d node_modules ] || npm install --no-save --no-audit --no-fund --silent
  npm run --silent build
)
cp report-ui/dist/index.html src/report/page.html
cp report-ui/dist/plan.html src/web/page.html
scripts/check_report.py --stamp
