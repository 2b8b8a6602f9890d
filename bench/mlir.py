#!/usr/bin/env python3
"""Buffer lists as MLIR functions: the arena of MLIR's own planner beside that of stowage.mlir, as a table in Markdown.

usage: mlir.py FOLDER [--time-limit SECONDS]

FOLDER has lists in CSV (id, lower, upper, size). Each becomes a function with memref.alloc and memref.dealloc. Needs
the Python packages stowage and torch-mlir; MLIR's pass is static-memory-planner-analysis{algorithm=best-fit}.
"""

import argparse
import csv
import importlib.metadata
import pathlib
import re
import time

from torch_mlir import ir
from torch_mlir.passmanager import PassManager

from stowage.mlir import plan_module


def function_of(path):
    """The list as a function. At a position buffers end before others begin."""
    with open(path, encoding="utf-8") as rows:
        buffers = [(int(row["lower"]), int(row["upper"]), int(row["size"])) for row in csv.DictReader(rows)]
    events = [(lower, 1, number) for number, (lower, _, _) in enumerate(buffers)]
    events += [(upper, 0, number) for number, (_, upper, _) in enumerate(buffers)]
    lines = ["func.func @list() {"]
    for _, begins, number in sorted(events):
        verb = f"%b{number} = memref.alloc()" if begins else f"memref.dealloc %b{number}"
        lines.append(f"  {verb} : memref<{buffers[number][2]}xi8>")
    return "\n".join([*lines, "  return", "}"])


def with_theirs(text):
    """Bytes of the arena of MLIR's pass, and seconds."""
    with ir.Context():
        module = ir.Module.parse(text)
        begin = time.monotonic()
        pass_name = "static-memory-planner-analysis{algorithm=best-fit}"
        PassManager.parse(f"builtin.module(func.func({pass_name}))").run(module.operation)
        seconds = time.monotonic() - begin
        sizes = re.findall(r"memref\.alloc\(\).*: memref<(\d+)xi8", str(module))
        return (int(sizes[0]) if len(sizes) == 1 else None), seconds


def with_ours(text, limit):
    with ir.Context():
        module = ir.Module.parse(text)
        begin = time.monotonic()
        (report,) = plan_module(module, alignment=1, time_limit=limit)
        seconds = time.monotonic() - begin
        assert module.operation.verify()
        return report, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--time-limit", type=float, default=3)
    given = parser.parse_args()
    print(f"torch-mlir {importlib.metadata.version('torch-mlir')}; {given.time_limit:g} s for stowage\n")
    print("| list | bound | MLIR's best fit | above | s | stowage | above | s |")
    print("|---|---|---|---|---|---|---|---|")
    above = lambda peak, bound: f"{100 * (peak / bound - 1):.2f} %"  # noqa: E731
    for path in sorted(given.folder.glob("*.csv")):
        text = function_of(path)
        theirs, their_seconds = with_theirs(text)
        ours, seconds = with_ours(text, given.time_limit)
        print(f"| {path.stem} | {ours.bound} | {theirs} | {above(theirs, ours.bound)} | {their_seconds:.2f} | "
              f"{ours.bytes} | {above(ours.bytes, ours.bound)} | {seconds:.2f} |", flush=True)


if __name__ == "__main__":
    main()
