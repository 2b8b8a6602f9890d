#!/usr/bin/env python3
"""Checks what the folders of src/ may include; fails naming file and line.

- A folder includes only folders that stand before it in ORDER, the order of docs/design.md.
- The command (src/cli/) is a client of the public headers: of src/ it includes src/base/ and itself only.
- A public header includes public headers only.
- No planner and no checker names an operator: they ask for facts of src/operators/.
"""
import pathlib
import re
import sys

ORDER = ["base", "model", "operators", "import", "schedule", "lifetime", "alias", "stream", "share", "pack", "levels", "check",
         "plan", "tflm", "export", "report", "kernels", "run", "generate", "cli"]
NAMELESS = ["schedule", "lifetime", "alias", "stream", "share", "pack", "levels", "check", "plan"]
INCLUDE = re.compile(r'^#include "([^"]+)"')


def includes(path):
    """Line numbers and names of a file's quoted includes."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if match := INCLUDE.match(line):
            yield number, match.group(1)


def named_operators(root):
    """Places in planners and checker that name an operator which has a row."""
    texts = [path.read_text().partition("_family() {")[2] for path in root.glob("src/operators/*.cc")]
    names = {name for text in texts for name in re.findall(r'(?<!called = )"([\w.]+)"', text)}
    if len(names) < 300:
        yield f"{root / 'src/operators'}: only {len(names)} names of operators are found"
    for path in sorted(path for folder in NAMELESS for path in root.glob(f"src/{folder}/*.[ch]*")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for name in re.findall(r'"([\w.]+)"', line):
                if name in names:
                    yield f"{path}:{number}: names the operator {name}, expected a fact of src/operators/"


def faults_of(root):
    for path in sorted(root.glob("src/**/*.[ch]*")):
        if path.suffix not in (".h", ".cc"):
            continue
        folder = path.relative_to(root / "src").parts[0]
        if folder not in ORDER:
            yield f"{path}: folder {folder} has no place in the order of folders"
            continue
        for number, name in includes(path):
            other = name.split("/")[0]
            if other == "stowage" or other == folder or "/" not in name:
                continue
            if folder == "cli" and other != "base":
                yield f"{path}:{number}: the command includes {name}, expected a public header"
            elif other not in ORDER or ORDER.index(other) > ORDER.index(folder):
                yield f"{path}:{number}: {folder}/ includes {name}, which stands behind it"
    for path in sorted(root.glob("include/stowage/*.h")):
        for number, name in includes(path):
            if not name.startswith("stowage/"):
                yield f"{path}:{number}: a public header includes {name}"


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    faults = [*faults_of(root), *named_operators(root)]
    for fault in faults:
        print(fault, file=sys.stderr)
    design = (root / "docs/design.md").read_text()
    shown = re.findall(r"^    src/([a-z]+)/ ", design, re.M)
    if shown != ORDER:
        print(f"docs/design.md: folders are {shown}, expected {ORDER}", file=sys.stderr)
        faults.append("design")
    return 1 if faults else 0


sys.exit(main())
