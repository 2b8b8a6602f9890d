#!/usr/bin/env python3
"""Packs public and generated instances, beside omnimalloc; prints all tables of one run, and what misses its target.

    bench/packing.py --stowage build/bench/stowage [--peer PYTHON] [--zoo build/zoo]
                     [--only SECTION,..] [--instances NAME,..]

Sections, in this order; --list prints them with what each is about. All take about half an hour on two processors.
A row that fails says so, and the run goes on; tables come row by row.

Gaps are the peak over the lower bound in percent, times are seconds. The bound is the max load, or a higher one with a
certificate. supermalloc gets 12 threads and the same limit. Of perturbed copies it is asked for those only that are
not at the bound, where nobody could be lower. --peer is a Python that has omnimalloc; without it, its columns are
empty. Lists that networks by rows make need the ONNX files of bench/zoo/make.py.
"""

import argparse
import functools
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "instances"))

import ablations  # noqa: E402
import constrained  # noqa: E402
import kinds  # noqa: E402
import packers  # noqa: E402

MOST_GAP_OF_COPIES = 1.0  # in percent
LEAST_PROVEN = 85  # of copies, in percent
SEEDS = 5
MILLION = 1_000_000
Y_LIKE = 62_185  # as many buffers as the largest real list that we know of
STREAM_LIMIT = 3
STREAMS = (("light_densenet121", "rows", 1), ("light_inception_v1", "rows", 1), ("nasnet_cifar", "arena", 1),
           ("amoebanet_cifar", "arena", 1), ("stream_encoder_12_layers", "arena", 8), ("bert_base", "arena", 1))
WITH_PARTS = ("stream_encoder_12_layers", "bert_base")  # have buffers of separate parts, which CSV cannot hold


class Bench:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.packers = packers.Packers(options.stowage, options.peer)
        self.missed = []
        self.public = {}
        for part in ("idealloc", "minimalloc"):
            for path in sorted((options.data / "packing" / part).glob("*.csv")):
                self.public[path.stem] = path

    def wants(self, section):
        return not self.options.only or section in self.options.only.split(",")

    def wants_instance(self, name):
        return not self.options.instances or name in self.options.instances.split(",")

    def file(self, name, buffers):
        path = self.folder / f"{name}.csv"
        if not path.exists():
            kinds.write(path, buffers)
        return path

    @functools.cached_property
    def workshop(self):
        """Builds programs from the library; takes half a minute of a processor."""
        return ablations.Workshop(pathlib.Path(self.options.stowage).resolve().parent, self.folder)

    def of_minimalloc(self):
        return {name: path for name, path in self.public.items() if path.parent.name == "minimalloc"}

    def expect(self, what, value, most, unit="%"):
        """Notes a miss."""
        if value > most * (1 + 1e-9):
            self.missed.append(f"{what}: {value:.4g} {unit}, wanted at most {most:g} {unit}")

    def expect_least(self, what, value, least, unit="%"):
        if value < least:
            self.missed.append(f"{what}: {value:.4g} {unit}, wanted at least {least:g} {unit}")

    def row(self, name, make):
        """Prints the row that `make` returns, or why there is none."""
        try:
            cells = make()
        except (OSError, ValueError, KeyError, IndexError, subprocess.SubprocessError) as error:
            self.missed.append(f"{name}: failed: {error}")
            cells = [f"failed: {type(error).__name__}"]
        print("| " + " | ".join(str(cell) for cell in (name, *cells)) + " |", flush=True)


def header(*titles):
    print("| " + " | ".join(titles) + " |\n" + "|---" * len(titles) + "|", flush=True)


def gap_of(found):
    return f"{found.gap:.2f}" if found else ""


def seconds_of(found):
    return f"{found.seconds:.4g}" if found else ""


COLUMNS = ("instance", "buffers", "bound", "gap %", "s", "by", "proven", "supermalloc gap %", "s", "omni gap %", "s")


def compare(bench, name, path, limit, most=None, asks=("supermalloc", "omni"), only_if_open=False):
    """The cells of a row of COLUMNS, and what was found by us and by supermalloc."""
    found = bench.packers.ours(path, limit)
    cells = [sum(1 for _ in open(path)) - 1, found.bound, gap_of(found), seconds_of(found), found.strategy,
             "yes" if found.is_proven else "no"]
    peers = {}
    for allocator in ("supermalloc", "omni"):
        asked = allocator in asks and not (only_if_open and found.is_proven)
        peers[allocator] = bench.packers.theirs(path, limit, found.bound, allocator) if asked else None
        cells += [gap_of(peers[allocator]), seconds_of(peers[allocator])]
    if most is not None:
        bench.expect(f"{name}, gap in {limit:g} s", found.gap, most)
    theirs = peers["supermalloc"]
    if theirs:
        bench.expect(f"{name}, peak beside that of supermalloc", found.peak, theirs.peak, "bytes")
    return cells, found


def public_section(bench):
    header(*COLUMNS)
    for name, path in bench.public.items():
        if bench.wants_instance(name):
            most = None if name in ("D", "J") else 0  # which have a section of their own
            bench.row(name, lambda: compare(bench, name, path, bench.options.limit, most)[0])


def seeds_section(bench):
    header("instance", "limit", "gaps % by seed", "seconds by seed", "at the bound", "supermalloc gap %")
    for name, limit in (("J", 15), ("D", 3), ("J", 3)):
        if name not in bench.public or not bench.wants_instance(name):
            continue

        def cells(name=name, limit=limit):
            runs = [bench.packers.ours(bench.public[name], limit, "--seed", str(seed)) for seed in range(SEEDS)]
            theirs = bench.packers.theirs(bench.public[name], limit, runs[0].bound)
            reached = sum(run.is_proven for run in runs)
            if (name, limit) != ("J", 3):
                bench.expect_least(f"{name} at max load in {limit} s", reached, SEEDS, f"of {SEEDS} seeds")
            return (f"{limit} s", ", ".join(gap_of(run) for run in runs), ", ".join(f"{r.seconds:.2f}" for r in runs),
                    f"{reached} of {SEEDS}", gap_of(theirs))
        bench.row(name, cells)


def copies_section(bench, section, is_wanted):
    header(*COLUMNS)
    gaps, proven = [], 0
    for source, path in bench.of_minimalloc().items():
        for name, buffers in kinds.copies(source, kinds.read(path)):
            if not is_wanted(name) or not bench.wants_instance(name):
                continue

            def cells(name=name, buffers=buffers):
                nonlocal proven
                cells, found = compare(bench, name, bench.file(name, buffers), bench.options.limit,
                                       MOST_GAP_OF_COPIES, ("supermalloc",), only_if_open=True)
                gaps.append(found.gap)
                proven += found.is_proven
                return cells
            bench.row(name, cells)
    if gaps:
        print(f"\n{proven} of {len(gaps)} proven optimal, median gap {statistics.median(gaps):.2f} %, "
              f"largest {max(gaps):.2f} %")
        bench.expect_least(f"{section} copies proven in {bench.options.limit:g} s", 100 * proven / len(gaps),
                           LEAST_PROVEN)


def perturbed_section(bench):
    copies_section(bench, "perturbed", lambda name: name.rsplit("-", 1)[1].isdigit())


def kinds_section(bench):
    copies_section(bench, "kinds", lambda name: not name.rsplit("-", 1)[1].isdigit())


def made_section(bench):
    header(*COLUMNS)
    most = {"cut-1000": 6, "cut-5000": 6, "saturated-5000": 0.3}
    for name in kinds.MADE:
        if bench.wants_instance(name):
            bench.row(name, lambda: compare(bench, name, bench.file(name, kinds.made(name)), bench.options.limit,
                                            most.get(name, None))[0])


def stream_section(bench):
    header(*COLUMNS)
    for name, io, granule in STREAMS:
        title = f"{name.removeprefix('light_').removeprefix('stream_')}-{io}"
        if not bench.wants_instance(title):
            continue
        folders = (bench.options.data / "models" / "onnx", bench.options.zoo)
        model = next((folder / f"{name}.onnx" for folder in folders if (folder / f"{name}.onnx").exists()), None)
        if model is None:
            print(f"| {title} | left out: {name}.onnx is in neither {folders[0]} nor {folders[1]} |", flush=True)
            continue

        def cells(name=name, title=title, io=io, granule=granule, model=model):
            form = "-o"
            path = bench.folder / (f"{title}.json" if name in WITH_PARTS else f"{title}.csv")
            bench.packers.plan(model, bench.options.limit, "--stream", "--align", "1", "--io", io, "--granule",
                               str(granule), "--layout", "granules", form, path)
            if name in WITH_PARTS:
                return cells_of_parts(bench, title, path)
            kinds.write(path, kinds.read(path))  # without the offsets
            return compare(bench, title, path, STREAM_LIMIT, 1, ("supermalloc",))[0]
        bench.row(title, cells)


def cells_of_parts(bench, title, path):
    """Of a plan's buffers, packed anew in the library; omnimalloc has no buffers of parts."""
    found = packers.in_library(bench.workshop.as_it_is(), path, "--seconds", str(STREAM_LIMIT), "--threads", "2")
    bench.expect(f"{title}, gap in {STREAM_LIMIT:g} s", found.gap, 1)
    buffers = sum(buffer.get("blocks", 1) for buffer in json.loads(path.read_text())["buffers"])
    proven = "yes" if found.is_proven else "no"
    return [buffers, found.bound, gap_of(found), seconds_of(found), "", proven, "", "", "", ""]


def speed_section(bench):
    header("instance", "buffers", "whole command, s", "MB", "planning, s", "gap %", "by")
    lists = [(name, bench.public[name], seconds) for name, seconds in (("S_1", 0.5), ("pangu_2.6B", 0.15))
             if name in bench.public]
    if "pangu_2.6B" in bench.public and bench.wants_instance("pangu-copies"):
        once = kinds.read(bench.public["pangu_2.6B"])
        copies = [kinds.perturbed(once, f"pangu-{i}", jitters=False) for i in range(4)]
        lists.append(("pangu-copies", bench.file("pangu-copies", kinds.in_a_row(copies, Y_LIKE)), 0.3))
    for name, path, most in lists:
        if not bench.wants_instance(name):
            continue

        def cells(name=name, path=path, most=most):
            runs = sorted((bench.packers.whole(path, bench.options.limit) for _ in range(3)), key=lambda it: it.seconds)
            bench.expect(f"{name}, whole command", runs[1].seconds, most, "s")
            bench.expect(f"{name}, gap", runs[1].found.gap, 0)
            return whole_cells(path, runs[1])
        bench.row(name, cells)
    for name, limit in (("S_1", 1), ("S_1", 0.3)):
        if name in bench.public and bench.wants_instance(name):
            bench.row(f"{name}, limit {limit} s", lambda: short_cells(bench, name, limit))


def whole_cells(path, run):
    return (sum(1 for _ in open(path)) - 1, f"{run.seconds:.3f}", f"{run.megabytes:.0f}", f"{run.planning:.3f}",
            gap_of(run.found), run.found.strategy)


def short_cells(bench, name, limit):
    """With a short limit `auto` must be no higher than each pass that fits into it."""
    path = bench.public[name]
    run = bench.packers.whole(path, limit)
    for strategy in ("greedy-by-duration", "greedy-by-size", "first-fit-by-start"):
        alone = bench.packers.ours(path, limit, "--strategy", strategy)
        if alone.seconds < limit:
            bench.expect(f"{name} in {limit} s, gap beside {strategy}", run.found.gap, alone.gap)
    return whole_cells(path, run)


def million_section(bench):
    header("instance", "buffers", "whole command, s", "MB", "planning, s", "gap %", "by")
    repeated = {name: [kinds.read(bench.public[name])] for name in ("S_1", "pangu_2.6B") if name in bench.public}
    lists = {f"{name} repeated": part for name, part in repeated.items()}
    if len(repeated) == 2:
        lists["mixed"] = [part[0] for part in repeated.values()]
    lists["geometric"] = []
    for name, parts in lists.items():
        if not bench.wants_instance(name):
            continue

        def cells(name=name, parts=parts):
            buffers = kinds.in_a_row(parts, MILLION) if parts else kinds.geometric(MILLION, "geometric")
            path = bench.file(f"{name.replace(' ', '-')}-million", buffers)
            del buffers
            run = bench.packers.whole(path, bench.options.limit)
            made = whole_cells(path, run)
            path.unlink()
            bench.expect(f"{name}, planning a million", run.planning, 5, "s")
            bench.expect(f"{name}, whole command on a million", run.seconds, 8, "s")
            bench.expect(f"{name}, memory of a million", run.megabytes, 300, "MB")
            return made
        bench.row(name, cells)


def small_section(bench):
    program = bench.workshop.as_it_is()
    header("buffers", "microseconds in the library", "gap %")
    for count in (10, 30, 100):
        def cells(count=count):
            path = bench.file(f"cut-{count}", kinds.cut_rectangle(count, count))
            found = packers.in_library(program, path, "--times", "200", "--threads", "1")
            if count == 10:
                bench.expect("ten buffers in the library", 1e6 * found.seconds, 20, "microseconds")
            return f"{1e6 * found.seconds:.1f}", gap_of(found)
        bench.row(count, cells)


def constrained_section(bench):
    constrained.table(bench, {name: bench.public[name] for name in bench.of_minimalloc()}, limit=2)


def ablation_section(bench):
    """Makes the lists that the ablations want, and prints their table."""
    paths = dict(bench.public)
    for source, path in bench.of_minimalloc().items():
        for name, buffers in kinds.copies(source, kinds.read(path)):
            paths[name] = bench.file(name, buffers)
    for name in kinds.MADE:
        paths[name] = bench.file(name, kinds.made(name))
    for path in [*bench.folder.glob("*-rows.csv"), *bench.folder.glob("*-arena.json")]:  # of the section of streams
        paths[path.stem] = path
    header("strategy", "without", "gap, or seconds to the bound")
    settings = argparse.Namespace(only="", effort=None, seeds=ablations.SEEDS)
    for row in ablations.table(bench.workshop, paths, settings):
        print(row, flush=True)


SECTIONS = {
    "public": (public_section, "Public lists"),
    "seeds": (seeds_section, "J and D by seeds"),
    "speed": (speed_section, "Whole commands on large lists: start to written plan, median of three"),
    "small": (small_section, "Rectangles cut to a few pieces, inside the library, median of 200 calls"),
    "perturbed": (perturbed_section, "Copies of minimalloc's lists: a tenth dropped, jittered and reversed, ten seeds"),
    "kinds": (kinds_section, "Copies of minimalloc's lists with a tenth dropped, jittered, reversed, or the last both"),
    "made": (made_section, "Rectangles cut to pieces, pinwheels, buffers that cross sections, saturated lists"),
    "streams": (stream_section, f"Lists that networks by rows make, {STREAM_LIMIT} s"),
    "million": (million_section, "A million buffers: start to written plan"),
    "constrained": (constrained_section, "Seconds to a proven optimum with pieces, alignments and pins"),
    "ablations": (ablation_section,
                  f"What each rule gains: --effort {ablations.EFFORT} (rectangle {ablations.OTHER_EFFORT['rectangle']}), "
                  f"mean of {ablations.SEEDS} seeds"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stowage", default="build/bench/stowage")
    parser.add_argument("--peer", default=sys.executable, help="a Python that has omnimalloc")
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path("../shared/data"))
    parser.add_argument("--zoo", type=pathlib.Path, default=pathlib.Path("build/zoo"))
    parser.add_argument("--limit", type=float, default=10, help="seconds for each instance")
    parser.add_argument("--only", default="", help="sections, separated by commas")
    parser.add_argument("--instances", default="", help="names of instances, separated by commas")
    parser.add_argument("--list", action="store_true", help="print the sections")
    options = parser.parse_args()
    if options.list:
        for name, (_, title) in SECTIONS.items():
            print(f"{name:12} {title}")
        return
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, pathlib.Path(folder))
        if not bench.packers.has_peer:
            print(f"{options.peer} has no omnimalloc: its columns are empty", file=sys.stderr)
        for name, (run, title) in SECTIONS.items():
            if bench.wants(name):
                print(f"\n### {title}\n", flush=True)
                try:
                    run(bench)
                except (OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
                    print(f"\nfailed: {error}", flush=True)
                    bench.missed.append(f"section {name}: failed: {error}")
    print("\n### What misses its target\n" if bench.missed else "\nAll targets of these sections are met.")
    for what in bench.missed:
        print(f"- {what}")


if __name__ == "__main__":
    main()
