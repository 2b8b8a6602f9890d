"""Packs public and generated instances with stowage and, where it is installed, omnimalloc, by turns.

    bench/packing.py --stowage build/bench/stowage [--data ../shared/data] [--limit 10] [--only D,J] [--million]
    bench/packing.py --stowage build/bench/stowage --constrained

Prints a Markdown table: buffers, max load, and per packer the peak over max load in percent and the seconds of
planning alone. Generated instances are the same everywhere: the generator's seed is the instance's name. A peer that
is still running long after the limit is ended, and so said. Of perturbed copies it is asked for those only that are
not at max load, where nobody could be lower. With --constrained instead: what pieces, alignments and pins
cost, see `constrained`.
"""

import argparse
import csv
import json
import math
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

PEER = """
import csv, sys, time
import omnimalloc
rows = list(csv.DictReader(open(sys.argv[1])))
buffers = [omnimalloc.Allocation(r["id"], int(r["size"]), int(r["lower"]), int(r["upper"])) for r in rows]
if sys.argv[2] == "supermalloc":
    allocator = omnimalloc.allocators.SupermallocAllocator(timeout=float(sys.argv[3]), num_threads=12)
else:
    allocator = omnimalloc.allocators.OmniAllocator()
begin = time.perf_counter()
placed = omnimalloc.allocate(buffers, allocator)
seconds = time.perf_counter() - begin
print(max(b.offset + b.size for b in placed), seconds)
"""


def read(path):
    with open(path) as file:
        return [(int(r["lower"]), int(r["upper"]), int(r["size"])) for r in csv.DictReader(file)]


def write(path, buffers):
    with open(path, "w") as file:
        file.write("id,lower,upper,size\n")
        for index, (lower, upper, size) in enumerate(buffers):
            file.write(f"{index},{lower},{upper},{size}\n")


def max_load(buffers):
    changes = sorted([(b[0], b[2]) for b in buffers] + [(b[1], -b[2]) for b in buffers])
    load = most = 0
    for _, change in changes:
        load += change
        most = max(most, load)
    return most


def perturbed(buffers, seed):
    """Sizes jittered by up to 5 % in units of 1024, one buffer in ten dropped, time reversed."""
    rng = random.Random(seed)
    end = max(upper for _, upper, _ in buffers)
    kept = [b for b in buffers if rng.random() >= 0.1]
    return [(end - upper, end - lower, max(1024, round(size * rng.uniform(0.95, 1.05) / 1024) * 1024))
            for lower, upper, size in kept]


def cut_rectangle(pieces, seed):
    """A rectangle cut in two again and again: everything fits without a gap."""
    rng = random.Random(seed)
    open_ones = [(0, 0, 4096, 4096)]
    while len(open_ones) < pieces:
        index = max(rng.sample(range(len(open_ones)), min(4, len(open_ones))),
                    key=lambda i: open_ones[i][2] * open_ones[i][3])
        x, y, width, height = open_ones.pop(index)
        if (width > height and width > 1) or height <= 1:
            cut = rng.randint(max(1, width // 5), max(1, width * 4 // 5))
            open_ones += [(x, y, cut, height), (x + cut, y, width - cut, height)]
        else:
            cut = rng.randint(max(1, height // 5), max(1, height * 4 // 5))
            open_ones += [(x, y, width, cut), (x, y + cut, width, height - cut)]
    rng.shuffle(open_ones)
    return [(x, x + width, height) for x, _, width, height in open_ones]


def pinwheels(pieces, seed):
    """Squares side by side in time and in height, each of five pieces around a middle one: no cut goes through."""
    rng = random.Random(seed)
    squares = max(1, pieces // 5)
    rows = max(1, int(squares ** 0.5))
    buffers = []
    for square in range(squares):
        x = square // rows * 100
        a, b = rng.randint(20, 45), rng.randint(20, 45)
        for left, bottom, width, height in [(0, 0, 100 - a, b), (100 - a, 0, a, 100 - b), (a, 100 - b, 100 - a, b),
                                            (0, b, a, 100 - b), (a, b, 100 - 2 * a, 100 - 2 * b)]:
            if width > 0 and height > 0:
                buffers.append((x + left, x + left + width, height))
    rng.shuffle(buffers)
    return buffers


def saturated(count, seed):
    rng = random.Random(seed)
    buffers = []
    for _ in range(count):
        lower = rng.randrange(count)
        buffers.append((lower, lower + rng.randint(1, max(2, count // 8)), 64 * rng.randint(1, 256)))
    return buffers


def constrained(rows, kind, seed):
    """A problem as tight as that of a plan (lower, upper, size, offset), which solves it. One buffer in five gets: a
    pin where it lies; as its alignment the largest power of two up to 4096 that divides its offset; or, in the second
    half of its life, only half of its bytes, with another buffer in the rest."""
    rng = random.Random(seed)
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


def compare_constrained(arguments, folder):
    """Prints the time of problems with pieces, alignments and pins over that of the plain problem."""
    names = []
    for part in sorted((arguments.data / "packing" / "minimalloc").glob("*.csv")):
        names.append((part.stem, read(part)))
    names += [(f"cut-{n}", cut_rectangle(n, n)) for n in (50, 100, 200)]
    kinds = ("pieces", "alignment", "pins")
    print("| instance | buffers | plain s | " + " | ".join(f"{kind} s, times" for kind in kinds) + " |")
    print("|---|---|---|" + "---|" * len(kinds))
    ratios = {kind: [] for kind in kinds}
    for name, buffers in names:
        if arguments.only and name not in arguments.only.split(","):
            continue
        path = folder / f"{name}.csv"
        write(path, buffers)
        plain = plan(arguments.stowage, path, arguments.limit)
        if plain["summary"]["peak"] > plain["summary"]["lower_bound"]:
            continue
        rows = [(b["pieces"][0]["lower"], b["pieces"][0]["upper"], b["size"], b["offset"]) for b in plain["buffers"]]

        def seconds_of(kind):
            runs = []
            for seed in range(5):
                with open(path, "w") as file:
                    made = constrained(rows, kind, f"{name}-{seed}")
                    file.write("id," + ",".join(made[0]) + "\n")
                    file.writelines(f"{i}," + ",".join(map(str, row)) + "\n" for i, row in enumerate(made[1:]))
                summary = plan(arguments.stowage, path, arguments.limit)["summary"]
                runs.append(summary["seconds"] if summary["peak"] == summary["lower_bound"] else math.inf)
            return statistics.median(runs)

        base = seconds_of("plain")
        row = f"| {name} | {len(buffers)} | {base:.4f} | "
        for kind in kinds:
            seconds = seconds_of(kind)
            ratios[kind].append(seconds / base)
            row += f"{seconds:.4f}, {seconds / base:.2f} | "
        print(row.rstrip(), flush=True)
    for kind in kinds:
        print(f"{kind}: median {statistics.median(ratios[kind]):.2f} times the plain problem", file=sys.stderr)


def instances(data, folder):
    """Names and files of all instances, in groups."""
    public = [(p.stem, p) for part in ("idealloc", "minimalloc") for p in sorted((data / "packing" / part).glob("*.csv"))]
    groups = {"public": public}
    made = {"perturbed": [], "perfect": [], "saturated": []}
    for name, path in public:
        if path.parent.name == "minimalloc":
            made["perturbed"] += [(f"{name}-{i}", perturbed(read(path), f"{name}-{i}")) for i in range(10)]
    for count in (50, 100, 200, 1000, 5000):
        made["perfect"].append((f"cut-{count}", cut_rectangle(count, count)))
        made["perfect"].append((f"pinwheels-{count}", pinwheels(count, count)))
    made["saturated"] = [(f"saturated-{count}", saturated(count, count)) for count in (100, 1000, 5000)]
    for group, them in made.items():
        groups[group] = []
        for name, buffers in them:
            path = folder / f"{name}.csv"
            write(path, buffers)
            groups[group].append((name, path))
    return groups


def million(data, folder):
    """Public instances one after the other until there are a million buffers."""
    for name in ("S_1", "pangu_2.6B"):
        source = data / "packing" / "idealloc" / f"{name}.csv"
        if not source.exists():
            continue
        once = read(source)
        end = max(upper for _, upper, _ in once)
        path = folder / f"{name}-million.csv"
        write(path, [(lower + k * end, upper + k * end, size)
                     for k in range(1_000_000 // len(once) + 1) for lower, upper, size in once])
        yield path.stem, path


def plan(stowage, path, limit):
    command = [stowage, "plan", str(path), "--time-limit", str(limit), "--threads", "2", "--json"]
    return json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


def ours(stowage, path, limit):
    summary = plan(stowage, path, limit)["summary"]
    return summary["peak"], summary["seconds"], summary["strategy"]


def peer(allocator, path, limit):
    command = [sys.executable, "-c", PEER, str(path), allocator, str(limit)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=6 * limit + 30)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode != 0:
        return None
    peak, seconds = done.stdout.split()
    return int(peak), float(seconds)


def gap(peak, bound):
    return 100 * (peak / bound - 1)


def show(found, bound):
    return f"{gap(found[0], bound):.2f} | {found[1]:.3f}" if found else "none | "


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stowage", required=True)
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path("../shared/data"))
    parser.add_argument("--limit", type=float, default=10)
    parser.add_argument("--only", default="", help="parts of the names of the instances to run")
    parser.add_argument("--million", action="store_true")
    parser.add_argument("--constrained", action="store_true")
    arguments = parser.parse_args()
    if arguments.constrained:
        with tempfile.TemporaryDirectory() as folder:
            return compare_constrained(arguments, pathlib.Path(folder))
    has_peer = subprocess.run([sys.executable, "-c", "import omnimalloc"], capture_output=True).returncode == 0
    if not has_peer:
        print("omnimalloc is not installed: its columns are missing", file=sys.stderr)
    wanted = [part for part in arguments.only.split(",") if part]
    with tempfile.TemporaryDirectory() as folder:
        groups = instances(arguments.data, pathlib.Path(folder))
        if arguments.million:
            groups["million"] = list(million(arguments.data, pathlib.Path(folder)))
        print("| instance | buffers | max load | gap % | s | by | supermalloc gap % | s | omni gap % | s |")
        print("|---|---|---|---|---|---|---|---|---|---|")
        for group, them in groups.items():
            gaps = []
            for name, path in them:
                if wanted and not any(part in name for part in wanted):
                    continue
                buffers = read(path)
                bound = max_load(buffers)
                found = ours(arguments.stowage, path, arguments.limit)
                gaps.append(gap(found[0], bound))
                row = f"| {name} | {len(buffers)} | {bound} | {show(found, bound)} | {found[2]} | "
                for allocator in ("supermalloc", "omni"):
                    asks = has_peer and group != "million"
                    if group == "perturbed":
                        asks = asks and allocator == "supermalloc" and found[0] > bound
                    row += (show(peer(allocator, path, arguments.limit), bound) if asks else " | ") + " | "
                print(row.rstrip(), flush=True)
            if gaps:
                optimal = sum(g == 0 for g in gaps)
                print(f"{group}: {optimal} of {len(gaps)} at max load, median gap {statistics.median(gaps):.2f} %, "
                      f"largest {max(gaps):.2f} %", file=sys.stderr)


if __name__ == "__main__":
    main()
