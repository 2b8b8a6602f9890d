#!/usr/bin/env bash
# scripts/site.sh: makes the documents a site with search in build/site/html, and checks every link of it.
# mkdocs-material is installed to an environment of its own. The pages fetch nothing from other hosts; their search
# wants a server: python3 -m http.server --directory build/site/html
set -euo pipefail
cd "$(dirname "$0")/.."
tools=build/site/tools
if [ ! -x "$tools/bin/mkdocs" ]; then
  python3 -m venv "$tools"
  "$tools/bin/pip" install -q --disable-pip-version-check 'mkdocs-material>=9.5,<10'
fi
# Pages have the places that they have in the tree, so their links to each other and to files hold.
rm -rf build/site/pages
mkdir -p build/site/pages
git ls-files -z README.md CHANGELOG.md CONTRIBUTING.md LICENSE docs bench/'*.md' bench/'*.csv' packaging/README.md include \
  examples src/operators/facts.h src/pack/relations/relations.cc scripts/packages.sh |
  xargs -0 cp --parents -t build/site/pages
NO_MKDOCS_2_WARNING=1 "$tools/bin/mkdocs" build --strict --clean >build/site/log.txt 2>&1 || { cat build/site/log.txt; exit 1; }
echo "build/site/html/index.html: $(find build/site/html -name '*.html' | wc -l) pages"
