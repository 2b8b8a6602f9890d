#!/usr/bin/env bash
# Tests the page of reports: that it is built from its sources; where Node 20 and npm are there, its units, its
# style, whether npm builds the same page; and the page itself in Chromium.
#   scripts/test_report.sh build/release
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh
program=$(realpath "$1/stowage")
scripts/check_report.py

version=$(node --version 2>/dev/null | sed -E 's/^v([0-9]+)\..*/\1/')
if ! command -v npm >/dev/null || [ "${version:-0}" -lt 20 ]; then
  echo "without Node 20 and npm: the page is not tested further"
  exit 0
fi
cd report-ui
if [ ! -d node_modules ]; then
  if ! npm ping >/dev/null 2>&1; then
    echo "npm reaches no registry: the page is not tested further"
    exit 0
  fi
  # Not "npm ci": it wants packages for all systems in the lock, and a registry may have those of some only.
  npm install --no-save --no-audit --no-fund --silent
fi
npm run --silent lint
npm run --silent test -- --reporter=dot
npm run --silent build >/dev/null
cmp dist/index.html ../src/report/page.html
cmp dist/plan.html ../src/web/page.html
install_packages "${report_packages[@]}"
node test/page.mjs "$program" ../examples
