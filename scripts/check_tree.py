#!/usr/bin/env python3
"""Checks what the folders of src/ may include, and sizes; fails naming file and line.

    scripts/check_tree.py                            walls and sizes
    scripts/check_tree.py --objects build/release    also that a clean build of all makes no more code than its size

- A folder includes only folders that stand before it in ORDER, the order of docs/design.md. A folder may have
  sub-folders, which that page lists behind it (INNER); each is in one folder's place of the order.
- The packer (src/pack/) is a library of its own: it includes src/base/, itself, and the public headers of PACKER. What it
  includes of src/base/ keeps to the same headers. Its sub-folders do not include each other.
- The command (src/cli/) is a client of the public headers: of src/ it includes src/base/ and itself only; so does the page
  that plans (src/web/), which also takes options from the command.
- A public header includes public headers only.
- What scripts/sizes.txt names is no larger than it says: lines of pages and of folders, options of `plan`, megabytes
  of object files. These stand for the time of the compiler, which other work on a machine changes by half.
- Every file of tests/ is compiled: tests/CMakeLists.txt names it.
- No planner and no checker names an operator: they ask for facts of src/operators/.
"""
import argparse
import pathlib
import re
import sys

ORDER = ["base", "pack", "model", "operators", "import", "schedule", "lifetime", "alias", "stream", "share", "check", "plan",
         "tflm", "export", "report", "kernels", "run", "generate", "cli", "web"]
CLIENTS = {"cli": ["base"], "web": ["base", "cli"]}
INNER = ["pack/memories", "pack/relations", "pack/patents"]
PACKER = ["stowage/error.h", "stowage/partial_lives.h", "stowage/problem.h", "stowage/spill.h",
          "stowage/tensor_kind.h", "stowage/units.h"]
OWN_TESTS = ["campaign", "consumer"]  # which have a CMakeLists.txt of their own
NAMELESS = ["pack", "schedule", "lifetime", "alias", "stream", "share", "check", "plan"]
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
    for path in sorted(path for folder in NAMELESS for path in root.glob(f"src/{folder}/**/*.[ch]*")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for name in re.findall(r'"([\w.]+)"', line):
                if name in names:
                    yield f"{path}:{number}: names the operator {name}, expected a fact of src/operators/"


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
            if folder in CLIENTS and other not in CLIENTS[folder]:
                yield f"{path}:{number}: {folder}/ includes {name}, expected a public header"
            elif other not in ORDER or ORDER.index(other) > ORDER.index(folder):
                yield f"{path}:{number}: {folder}/ includes {name}, which stands behind it"
    for path in sorted(root.glob("include/stowage/*.h")):
        for number, name in includes(path):
            if not name.startswith("stowage/"):
                yield f"{path}:{number}: a public header includes {name}"


def lines_of(path):
    """Of a file, or of all C and C++ in a folder."""
    files = [file for file in path.glob("**/*") if file.suffix in (".c", ".cc", ".h")] if path.is_dir() else [path]
    return sum(len(file.read_text().splitlines()) for file in files)


def options_of_plan(page):
    """Options that docs/cli.md describes for `plan`; a test compares that page with --help."""
    count, counts = 0, False
    for line in page.read_text().splitlines():
        if line.startswith("#"):
            counts = "`plan`" in line and not line.startswith("## `plan`")
        elif counts and re.match(r"- (`-\w[^`]*`, )?`--", line):
            count += 1
    return count


def megabytes_of_objects(build):
    """Of a build of all; 0 if none is named."""
    return sum(path.stat().st_size for path in build.glob("**/*.o")) / 1e6 if build else 0


def forgotten_tests(root):
    named = set(re.findall(r"\b[\w/]+\.cc\b", (root / "tests/CMakeLists.txt").read_text()))
    for path in sorted(root.glob("tests/*/*.cc")):
        name = f"{path.parent.name}/{path.name}"
        if name not in named and path.parent.name not in OWN_TESTS:
            yield f"{path}: tests/CMakeLists.txt does not name it, so nothing compiles it"


def size_faults(root, objects):
    table = root / "scripts/sizes.txt"
    named = set()
    for number, line in enumerate(table.read_text().splitlines(), 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        name, most = text.rsplit(maxsplit=1)
        named.add(name)
        if name == "megabytes of objects":
            size = megabytes_of_objects(objects)
        elif name == "options of plan":
            size = options_of_plan(root / "docs/cli.md")
        elif (root / name).exists():
            size = lines_of(root / name)
        else:
            yield f"{table}:{number}: there is no {name}"
            continue
        if size > float(most):
            yield f"{table}:{number}: {name}: {size:g}, expected at most {most}; make it smaller, or say why it grows"
    for folder in sorted(path.name for path in (root / "src").iterdir() if path.is_dir()):
        if f"src/{folder}" not in named:
            yield f"{table}: src/{folder} has no size"


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
    parser = argparse.ArgumentParser(description="Checks includes of folders, and sizes.")
    parser.add_argument("--objects", type=pathlib.Path, metavar="BUILD", help="a folder with a clean build of all")
    options = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parent.parent
    faults = [*faults_of(root), *named_operators(root), *size_faults(root, options.objects), *forgotten_tests(root)]
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
