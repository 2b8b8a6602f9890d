#!/usr/bin/env python3
"""Checks the documents: line length, relative links, names of files, and the commands that the README shows.

    scripts/check_docs.py                                    lines, links and names
    scripts/check_docs.py --stowage build/release/stowage    also runs the README's commands

A line has at most 110 columns. A relative link names a file in the repository, and a heading if it has '#'.
A name such as plan/plan.cc or tests/run, in a document or a comment of C++, that begins with a folder of the repository
or of src/ names a file that exists.
The README's commands are the lines "$ ..." in indented blocks. They run with bash, in the order of the page, in
a temporary folder that has a copy of examples/, and stowage is the given program. Each must exit with 0; its
output is not compared. Prints FILE:LINE: PROBLEM for each problem, and exits with 1 if there is one.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
COLUMNS = 110
SECONDS = 120  # for one command
FILE_NAME = re.compile(r"(?<![\w./*<>{}-])(?:[\w-]+/)+[\w-]+\.(?:cc|h|c|py|sh|md|txt|cmake|json|csv|onnx|svg)\b(?![\w*(/])")
LINK = re.compile(r"\]\(([^()\s]+)\)")


def documents():
    names = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "bench/README.md", "bench/journal.md"]
    return [ROOT / name for name in names] + sorted((ROOT / "docs").glob("*.md"))


def lines_of(document):
    return document.read_text(encoding="utf-8").splitlines()


def prose_of(document):
    """Numbered lines outside of code blocks, without code spans: links are looked for in these alone."""
    fenced = False
    for number, line in enumerate(lines_of(document), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and not line.startswith("    "):
            yield number, line


def anchors_of(document):
    """The headings as links name them: lower case, blanks as '-', no punctuation."""
    headings = [re.sub(r"^#+ ", "", line) for _, line in prose_of(document) if re.match(r"#+ ", line)]
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def check_columns(document):
    for number, line in enumerate(lines_of(document), 1):
        if len(line) > COLUMNS:
            yield number, f"{len(line)} columns, expected at most {COLUMNS}"


def check_links(document):
    for number, line in prose_of(document):
        for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = urllib.parse.unquote(target).partition("#")
            file = (document.parent / name).resolve() if name else document
            if not file.exists() or not file.is_relative_to(ROOT):
                yield number, f"link to {target}: no such file in the repository"
            elif anchor and file.suffix == ".md" and anchor not in anchors_of(file):
                yield number, f"link to {target}: no such heading"


def repository_files():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            capture_output=True, text=True, check=True).stdout.splitlines()
    return [name for name in listed if (ROOT / name).is_file()]


def check_names(files):
    """Of files in documents and comments, which both are read as text. FILE:LINE: PROBLEM for each."""
    folders = {name.split("/")[0] for name in files if "/" in name}
    folders |= {name.split("/")[1] for name in files if re.match("(src|include)/.*/", name)}
    folders -= {"build"}
    known = set(files)
    for name in files:
        is_code = name.startswith(("src/", "include/", "tests/", "fuzz/", "bench/")) and name.endswith((".cc", ".h"))
        if not is_code and not name.endswith(".md"):
            continue
        for number, line in enumerate(lines_of(ROOT / name), 1):
            text = line.partition("//")[2] if is_code else line
            for match in FILE_NAME.finditer(text):
                named = match.group()
                places = [named, f"src/{named}", f"include/{named}", f"{name.split('/')[0]}/{named}"]
                if named.split("/")[0] in folders and not known.intersection(places):
                    yield f"{name}:{number}: names {named}: no such file in the repository"


def commands_of(document):
    """Numbered commands, with continuation lines joined."""
    lines = lines_of(document)
    for number, line in enumerate(lines, 1):
        if not line.startswith("    $ "):
            continue
        command = line[6:]
        following = number
        while command.endswith("\\"):
            command = command[:-1] + lines[following].strip()
            following += 1
        yield number, command


def check_commands(document, program):
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "examples", pathlib.Path(folder) / "examples")
        place = pathlib.Path(folder) / "bin"
        place.mkdir()
        (place / "stowage").symlink_to(program.resolve())
        environment = {**os.environ, "PATH": f"{place}:{os.environ['PATH']}"}
        for number, command in commands_of(document):
            try:
                run = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=folder, timeout=SECONDS,
                                     env=environment, capture_output=True, text=True, check=False)
            except subprocess.TimeoutExpired:
                yield number, f"'{command}' takes more than {SECONDS} s"
                continue
            if run.returncode != 0:
                said = (run.stderr.strip() or run.stdout.strip()).splitlines()
                yield number, f"'{command}' exits with {run.returncode}: {said[-1] if said else 'no message'}"


def main():
    parser = argparse.ArgumentParser(description="Checks the documents.")
    parser.add_argument("--stowage", type=pathlib.Path, help="the program that the README's commands run")
    options = parser.parse_args()
    if options.stowage and not options.stowage.is_file():
        parser.error(f"--stowage: there is no file {options.stowage}")
    problems = list(check_names(repository_files()))
    for document in documents():
        found = [*check_columns(document), *check_links(document)]
        if options.stowage and document == ROOT / "README.md":
            found += check_commands(document, options.stowage)
        problems += [f"{document.relative_to(ROOT)}:{number}: {problem}" for number, problem in sorted(found)]
    print(*problems, sep="\n", end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
