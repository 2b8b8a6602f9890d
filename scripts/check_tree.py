#!/usr/bin/env python3
"""Checks what the folders of src/ may include; fails naming file and line.

- A folder includes only folders that stand before it in ORDER, the order of docs/design.md. A folder may have
  sub-folders, which that page lists behind it (INNER); each is in one folder's place of the order.
- The packer (src/pack/) is a library of its own: it includes src/base/, itself, and the public headers of PACKER. What it
  includes of src/base/ keeps to the same headers. Its sub-folders do not include each other.
- The command (src/cli/) is a client of the public headers: of src/ it includes src/base/ and itself only.
- A public header includes public headers only.
"""
import pathlib
import re
import sys

ORDER = ["base", "pack", "model", "import", "schedule", "lifetime", "alias", "stream", "share", "check", "plan", "tflm",
         "export", "report", "kernels", "run", "generate", "cli"]
INNER = ["pack/memories", "pack/patents"]
PACKER = ["stowage/error.h", "stowage/problem.h", "stowage/tensor_kind.h", "stowage/units.h"]
INCLUDE = re.compile(r'^#include "([^"]+)"')


def includes(path):
    """Line numbers and names of a file's quoted includes."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if match := INCLUDE.match(line):
            yield number, match.group(1)


def faults_of(root):
    yield from faults_of_packer(root)
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


def faults_of_packer(root):
    """Follows the includes of src/pack/ from file to file."""
    asked = sorted((root / "src/pack").glob("**/*.[ch]*"))
    seen = set(asked)
    while asked:
        path = asked.pop()
        for number, name in includes(path):
            if name.startswith("stowage/"):
                if name not in PACKER:
                    yield f"{path}:{number}: the packer includes {name}, expected one of {', '.join(PACKER)}"
                continue
            inner = f"pack/{path.parent.name}"
            others = [it for it in INNER if it != inner]
            if inner in INNER and any(name.startswith(it + "/") for it in others):
                yield f"{path}:{number}: {inner}/ includes {name} of the folder beside it"
            source = root / "src" / name
            if source not in seen and source.exists():
                seen.add(source)
                asked.append(source)


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    faults = list(faults_of(root))
    for fault in faults:
        print(fault, file=sys.stderr)
    design = (root / "docs/design.md").read_text()
    for pattern, expected in (r"^    src/([a-z]+)/ ", ORDER), (r"^    src/([a-z]+/[a-z]+)/ ", INNER):
        shown = re.findall(pattern, design, re.M)
        if shown != expected:
            print(f"docs/design.md: folders are {shown}, expected {expected}", file=sys.stderr)
            faults.append("design")
    return 1 if faults else 0


sys.exit(main())
