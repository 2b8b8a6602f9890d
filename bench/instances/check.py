#!/usr/bin/env python3
"""Checks solutions of the instances that make.py writes, and compares them with the best known.

    bench/instances/check.py --instances FOLDER [--record NAME] SOLUTION.csv ...

A solution is called like its instance and has the columns id, lower, upper, size and offset, as `stowage plan
INSTANCE.csv -o SOLUTION.csv` writes them; others are ignored. It is right if it has the buffers of the instance and
if buffers that are alive at the same time have disjoint bytes. Prints its peak, the best known peak and the bound. With
--record, a lower peak is noted in best.csv as found by NAME. Ends with status 1 if a solution is wrong.
"""

import argparse
import bisect
import csv
import pathlib
import sys

import kinds

BEST = pathlib.Path(__file__).resolve().parent / "best.csv"
COLUMNS = ("instance", "buffers", "bound", "peak", "by")


class Wrong(Exception):
    pass


def rows_of(path):
    """The buffers of a list by their ids."""
    with open(path) as file:
        rows = {row["id"]: row for row in csv.DictReader(file)}
    return {name: (int(row["lower"]), int(row["upper"]), int(row["size"]), int(row.get("offset") or 0))
            for name, row in rows.items()}


def peak_of(buffers):
    """Sweeps over time with the buffers alive in the order of their offsets."""
    events = []
    for name, (lower, upper, size, offset) in buffers.items():
        if offset < 0:
            raise Wrong(f"buffer {name} has the offset {offset}")
        if lower < upper and size > 0:
            events += [(lower, 1, offset, size, name), (upper, 0, offset, size, name)]
    alive = []
    for _, begins, offset, size, name in sorted(events):
        place = bisect.bisect_left(alive, (offset, offset + size, name))
        if not begins:
            alive.pop(place)
            continue
        for other in alive[max(0, place - 1):place + 1]:
            if other[0] < offset + size and offset < other[1]:
                raise Wrong(f"buffers {other[2]} and {name} share bytes while both are alive")
        alive.insert(place, (offset, offset + size, name))
    return max((offset + size for _, _, size, offset in buffers.values()), default=0)


def checked(instance, solution):
    """The peak of a right solution."""
    wanted = {name: row[:3] for name, row in rows_of(instance).items()}
    found = rows_of(solution)
    for name in wanted.keys() | found.keys():
        if wanted.get(name) != (found[name][:3] if name in found else None):
            raise Wrong(f"buffer {name} is {found.get(name, 'missing')}, expected {wanted.get(name, 'none')}")
    return peak_of(found)


def read_best():
    if not BEST.exists():
        return {}
    with open(BEST) as file:
        return {row["instance"]: row for row in csv.DictReader(file)}


def write_best(best):
    with open(BEST, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(best.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=pathlib.Path, required=True)
    parser.add_argument("--record", metavar="NAME", help="who found it")
    parser.add_argument("solutions", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    best = read_best()
    wrong = False
    for solution in arguments.solutions:
        name = solution.stem
        instance = arguments.instances / f"{name}.csv"
        try:
            peak = checked(instance, solution)
        except (Wrong, OSError, ValueError, KeyError, TypeError) as error:
            print(f"{name}: wrong: {error}")
            wrong = True
            continue
        if arguments.record and (name not in best or peak < int(best[name]["peak"])):
            buffers = kinds.read(instance)
            best[name] = dict(zip(COLUMNS, (name, len(buffers), kinds.max_load(buffers), peak, arguments.record)))
        if name not in best:
            print(f"{name}: {peak}, not in best.csv")
            continue
        known, bound = int(best[name]["peak"]), int(best[name]["bound"])
        print(f"{name}: {peak}, {100 * (peak / bound - 1):.2f} % above the bound {bound}; best known {known} by "
              f"{best[name]['by']}")
    if arguments.record:
        write_best(best)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
