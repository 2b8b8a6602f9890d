#!/usr/bin/env python3
"""Checks that the page of reports and the page that plans are built from their sources, without npm.

    scripts/check_report.py           fails if report-ui/ changed since the pages were built
    scripts/check_report.py --stamp   notes the sources that the pages were built from (scripts/build_report.sh)

The stamp, src/report/page.sources, has the SHA-256 of each page, and one of the names and contents of all files of
report-ui/ that the pages depend on.
"""
import hashlib
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
UI = ROOT / "report-ui"
PAGES = [ROOT / "src/report/page.html", ROOT / "src/web/page.html"]
STAMP = ROOT / "src/report/page.sources"


def stamp():
    sources = hashlib.sha256()
    names = ["index.html", "plan.html", "package.json", "package-lock.json", "vite.config.ts"]
    for path in [UI / name for name in names] + sorted((UI / "src").iterdir()):
        content = path.read_bytes()
        sources.update(f"{path.relative_to(UI)} {len(content)}\n".encode() + content)
    pages = "".join(f"page    {hashlib.sha256(page.read_bytes()).hexdigest()}\n" for page in PAGES)
    return f"{pages}sources {sources.hexdigest()}\n"


def main():
    if sys.argv[1:] == ["--stamp"]:
        STAMP.write_text(stamp())
        return 0
    if sys.argv[1:]:
        sys.exit(__doc__)
    if not STAMP.exists() or STAMP.read_text() != stamp():
        print("src/report/page.html or src/web/page.html is not what report-ui/ builds: run scripts/build_report.sh", file=sys.stderr)
        return 1
    return 0


sys.exit(main())
