#!/usr/bin/env python3
"""The list of models, models.csv, as rows. As a program: checks the list, and exits with 1 if it has a fault.

Columns: name, package (NAME==VERSION), file inside its wheel, sha256 of that file, what it is, options (of `stowage`:
the sizes that the model leaves open) and inputs: NAME=VALUE or NAME=LOW..HIGH, separated by ';', for inputs that
cannot be any number. A model whose weights are beside it has several files, separated by ';', the model first, and
as many hashes."""
import csv
import pathlib
import re
import shlex
import sys
from dataclasses import dataclass

LIST = pathlib.Path(__file__).with_name("models.csv")
COLUMNS = ["name", "package", "file", "sha256", "what", "options", "inputs"]


@dataclass
class Model:
    name: str
    package: str
    files: list  # inside the wheel: the model, then what is beside it
    sha256: list  # of each file
    what: str
    options: list
    inputs: dict  # name: (lowest, highest)

    def path(self, folder):
        return self.paths(folder)[0]

    def paths(self, folder):
        """Where each file is. Several are in a folder of their own and keep their names: the model has them."""
        folder, files = pathlib.Path(folder), [pathlib.PurePosixPath(file) for file in self.files]
        if len(files) == 1:
            return [folder / (self.name + files[0].suffix)]
        return [folder / self.name / file.relative_to(files[0].parent) for file in files]


def ranges_of(text):
    ranges = {}
    for part in filter(None, text.split(";")):
        name, _, value = part.partition("=")
        low, _, high = value.partition("..")
        ranges[name] = (float(low), float(high or low))
    return ranges


def models():
    with LIST.open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            row["files"], row["sha256"] = row.pop("file").split(";"), row["sha256"].split(";")
            row["options"], row["inputs"] = shlex.split(row["options"]), ranges_of(row["inputs"])
            yield Model(**row)


def add_choice(parser):
    parser.add_argument("--sample", type=int, metavar="N", help="only N models, spread over the list")
    parser.add_argument("--only", action="append", metavar="NAME", help="only this model; may be given several times")


def chosen(options):
    """The models that the options of add_choice ask for."""
    every = list(models())
    if options.only:
        if unknown := set(options.only) - {model.name for model in every}:
            sys.exit(f"{LIST.name} has no {', '.join(sorted(unknown))}")
        every = [model for model in every if model.name in options.only]
    if options.sample and options.sample < len(every):
        every = [every[i * len(every) // options.sample] for i in range(options.sample)]
    return every


def faults():
    with LIST.open(newline="", encoding="utf-8") as lines:
        head = next(csv.reader(lines))
    if head != COLUMNS:
        yield f"1: columns are {head}, expected {COLUMNS}"
        return
    names, hashes = set(), set()
    for number, model in enumerate(models(), 2):
        for is_good, what in [
                (re.fullmatch(r"[a-z][a-z0-9_]*", model.name), f"name {model.name}: lower case, digits and _ expected"),
                (model.name not in names, f"name {model.name}: stands twice"),
                (re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", model.package), f"package {model.package}"),
                (model.files[0].endswith((".onnx", ".tflite")), f"file {model.files[0]}: neither .onnx nor .tflite"),
                (all(pathlib.PurePosixPath(file).is_relative_to(pathlib.PurePosixPath(model.files[0]).parent)
                     for file in model.files), f"files {model.files}: expected in the folder of the first"),
                (len(model.sha256) == len(model.files), f"sha256: {len(model.files)} expected, as many as files"),
                (all(re.fullmatch(r"[0-9a-f]{64}", sha256) for sha256 in model.sha256),
                 f"sha256 {model.sha256}: 64 hex digits expected"),
                (hashes.isdisjoint(model.sha256), f"sha256 {model.sha256}: stands twice"),
                (model.what, "what: is empty"),
                (len(model.options) % 2 == 0 and set(model.options[::2]) <= {"--dim", "--shape", "--bound", "--value"},
                 f"options {model.options}")]:
            if not is_good:
                yield f"{number}: {what}"
        names.add(model.name)
        hashes.update(model.sha256)
    if len(names) < 60:
        yield f"{len(names)} models, expected at least 60"


if __name__ == "__main__":
    found = list(faults())
    for fault in found:
        print(f"{LIST}:{fault}", file=sys.stderr)
    sys.exit(1 if found else 0)
