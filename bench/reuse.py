#!/usr/bin/env python3
"""Costs of reuse of dsa-solver's corpus: ours beside the best that its solvers know, as a table in Markdown.

usage: reuse.py PROGRAM FOLDER [--time-limit SECONDS] [--seeds N]

FOLDER has best-known.csv, soft/*.json and lifts/*.json. Soft problems are solved with the limit each; of lifts the
median cost over the seeds counts. `bound` is proven by the program.
"""

import argparse
import csv
import json
import pathlib
import re
import statistics
import subprocess
import time

# Best costs of dsa-solver's own solvers on its lifts of minimalloc's lists, at the same capacities.
LIFTS = {"A": 306, "C": 402, "D": 250, "E": 403, "G": 471, "H": 497, "I": 928, "J": 657}


def solve(program, file, limit, seed):
    begin = time.monotonic()
    run = subprocess.run(
        [program, "pack", file, "--time-limit", str(limit), "--seed", str(seed)], capture_output=True, text=True
    )
    seconds = time.monotonic() - begin
    if run.returncode == 1:
        return None, "proven" in run.stdout, seconds
    run.check_returncode()
    cost, bound = re.search(r"^reuse cost +(\d+), (.*)$", run.stdout, re.MULTILINE).groups()
    is_proven = bound == "proven least"
    return int(cost), int(cost) if is_proven else int(bound.rsplit(" ", 1)[1]), seconds


def soft(program, folder, limit):
    best = {}
    with open(folder / "best-known.csv", encoding="utf-8") as rows:
        for row in csv.DictReader(rows):
            best[row["source_fingerprint"]] = (row["best_known_cost"], row["optimum_proven"] == "true")
    count = impossible = ours = theirs = proven = theirs_proven = 0
    seconds = 0.0
    for file in sorted((folder / "soft").glob("*.json")):
        metadata = json.loads(file.read_text())["metadata"]
        known, is_known_proven = next(best[value] for value in metadata.values() if value in best)
        cost, bound, took = solve(program, file, limit, 0)
        seconds += took
        count += 1
        theirs_proven += is_known_proven
        if cost is None:
            impossible += bool(bound)
            continue
        ours += cost
        theirs += int(known)
        proven += cost == bound
    print("| soft problems | cost | best known | proven | proven by them | proven impossible | seconds |")
    print("|---|---|---|---|---|---|---|")
    print(f"| {count} | {ours} | {theirs} | {proven} | {theirs_proven} | {impossible} | {seconds:.1f} |")


def lifts(program, folder, limit, seeds):
    print("\n| lift | cost | best known | bound |")
    print("|---|---|---|---|")
    sums = [0, 0, 0]
    for file in sorted((folder / "lifts").glob("*.json")):
        runs = [solve(program, file, limit, seed) for seed in range(seeds)]
        row = (int(statistics.median_low(cost for cost, _, _ in runs)), LIFTS[file.stem], max(b for _, b, _ in runs))
        sums = [a + b for a, b in zip(sums, row)]
        print(f"| {file.stem} | {row[0]} | {row[1]} | {row[2]} |", flush=True)
    print(f"| all | {sums[0]} | {sums[1]} | {sums[2]} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--time-limit", type=float, default=10)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    soft(arguments.program, arguments.folder, arguments.time_limit)
    lifts(arguments.program, arguments.folder, arguments.time_limit, arguments.seeds)


if __name__ == "__main__":
    main()
