#!/usr/bin/env python3
"""Checks that the page of reports is built from its sources, without npm.

    scripts/check_report.py           fails if report-ui/ changed since src/report/page.html was built
    scripts/check_report.py --stamp   notes the sources that the page was built from (scripts/build_report.sh)

The stamp, src/report/page.sources, has the SHA-256 of the page, and one of the names and contents of all files of
report-ui/ that the page depends on.
"""
import hashlib
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
UI = ROOT / "report-ui"
PAGE = ROOT / "src/report/page.html"
STAMP = ROOT / "src/report/page.sources"


def stamp():
    sources = hashlib.sha256()
    names = ["index.html", "package.json", "package-lock.json", "vite.config.ts"]
    for path in [UI / name for name in names] + sorted((UI / "src").iterdir()):
        content = path.read_bytes()
        sources.update(f"{path.relative_to(UI)} {len(content)}\n".encode() + content)
    return f"page    {hashlib.sha256(PAGE.read_bytes()).hexdigest()}\nsources {sources.hexdigest()}\n"


def main():
    if sys.argv[1:] == ["--stamp"]:
        STAMP.write_text(stamp())
        return 0
    if sys.argv[1:]:
        sys.exit(__doc__)
    if not STAMP.exists() or STAMP.read_text() != stamp():
        print("src/report/page.html is not what report-ui/ builds: run scripts/build_report.sh", file=sys.stderr)
        return 1
    return 0


sys.exit(main())
