"""What pieces, alignments and pins cost: a table of bench/packing.py."""

import math
import statistics

import kinds

SEEDS = 5
MOST_TIMES = 1.5  # the time of the plain problem
CUT = (50, 100, 200)
KINDS = ("pieces", "alignment", "pins")


def constrained(rows, kind, seed):
    """A problem as tight as that of a plan (lower, upper, size, offset), which solves it. One buffer in five gets: a
    pin where it lies; as its alignment the largest power of two up to 4096 that divides its offset; or, in the second
    half of its life, only half of its bytes, with another buffer in the rest."""
    rng = kinds.random.Random(seed)
    made = [["lower", "upper", "size", "alignment", "offset", "gaps"]]
    for lower, upper, size, offset in rows:
        row = [lower, upper, size, 1, "", ""]
        if rng.random() < 0.2:
            if kind == "pins":
                row[4] = offset
            elif kind == "alignment":
                row[3] = min(4096, offset & -offset) or 4096
            elif kind == "pieces" and upper - lower > 1 and size > 1:
                middle, half = (lower + upper) // 2, size // 2
                row[5] = f"{middle}-{upper}@0:{half}"
                made.append([middle, upper, size - half, 1, "", ""])
        made.append(row)
    return made


def seconds_of(bench, name, rows, kind, limit):
    """The median of several seeds; infinite if most do not reach the bound."""
    runs = []
    path = bench.folder / f"constrained-{name}.csv"
    for seed in range(SEEDS):
        made = constrained(rows, kind, f"{name}-{seed}")
        with open(path, "w") as file:
            file.write("id," + ",".join(made[0]) + "\n")
            file.writelines(f"{i}," + ",".join(map(str, row)) + "\n" for i, row in enumerate(made[1:]))
        found = bench.packers.ours(path, limit)
        runs.append(found.seconds if found.is_proven else math.inf)
    return statistics.median(runs)


def table(bench, public, limit):
    """Prints the time of problems with pieces, alignments and pins over that of the plain problem."""
    titles = ("instance", "plain s", *(f"{kind} s, times" for kind in KINDS))
    print("| " + " | ".join(titles) + " |\n" + "|---" * len(titles) + "|")
    paths = {**public, **{f"cut-{n}": bench.file(f"cut-{n}", kinds.made(f"cut-{n}")) for n in CUT}}
    ratios = {kind: [] for kind in KINDS}
    for name, path in paths.items():
        if not bench.wants_instance(name):
            continue
        plain = bench.packers.plan(path, limit)
        if plain["summary"]["peak"] > plain["summary"]["lower_bound"]:
            continue  # its layout would not make a problem with a known optimum
        rows = [(b["pieces"][0]["lower"], b["pieces"][0]["upper"], b["size"], b["offset"]) for b in plain["buffers"]]

        def cells(name=name, rows=rows):
            base = seconds_of(bench, name, rows, "plain", limit)
            made = [f"{base:.4f}"]
            for kind in KINDS:
                seconds = seconds_of(bench, name, rows, kind, limit)
                ratios[kind].append(seconds / base)
                made.append(f"{seconds:.4f}, {seconds / base:.2f}")
            return made
        bench.row(name, cells)
    for kind in KINDS:
        if ratios[kind]:
            bench.expect(f"{kind}: median of the time over that of the plain problem",
                         statistics.median(ratios[kind]), MOST_TIMES, "times")
