#!/usr/bin/env python3
"""Peaks of lives in a partial order, beside omnimalloc's allocators: its SyncPatternSource, all patterns in turn.

    python bench/partial.py --seeds 200 --limit 1

Every allocator gets the same time for each pool; ours runs in one thread, as theirs do. An allocator that takes no vector
clocks, or a package that it lacks, is left out and named. The bound is the heaviest set of buffers that may be live at
once. All placings are checked by omnimalloc's validate_allocation. Output: Markdown; with --json a line for each pool.
"""

import argparse
import collections
import inspect
import json
import statistics
import sys
import time

from stowage.omnimalloc import Allocator


def peers_of(omnimalloc, limit, first):
    """Allocators that take vector clocks, by name; and why others are left out."""
    found, without = {}, {}
    for name in omnimalloc.allocators.available_allocators():
        kind = omnimalloc.allocators.BaseAllocator.get(name)
        if not kind.supports_vector_time:
            continue
        takes_time = "timeout" in inspect.signature(kind.__init__).parameters
        try:
            allocator = kind(timeout=limit) if takes_time else kind()
            allocator.allocate(first[:2])
        except ImportError as error:
            without[name] = str(error).splitlines()[0]
            continue
        found[name] = allocator
    return found, without


def timed(allocate, allocations):
    begin = time.perf_counter()
    placed = allocate(allocations)
    return placed, time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--buffers", type=int, default=128)
    parser.add_argument("--limit", type=float, default=1, help="seconds of each allocator for each pool")
    parser.add_argument("--json", help="a file that gets a line for each pool")
    arguments = parser.parse_args()
    try:
        import omnimalloc
        from omnimalloc.benchmark.sources.sync_patterns import SYNC_PATTERNS, SyncPatternSource
    except ImportError:
        sys.exit("omnimalloc is not there: pip install omnimalloc")
    peers, ours, gaps, times, peaks = None, [], [], [], collections.defaultdict(list)
    proven = 0
    log = open(arguments.json, "w") if arguments.json else None
    for seed in range(arguments.first, arguments.first + arguments.seeds):
        pattern = SYNC_PATTERNS[seed % len(SYNC_PATTERNS)]
        pool = SyncPatternSource(num_allocations=arguments.buffers, pattern=pattern, seed=seed).get_allocations()
        if peers is None:
            peers, without = peers_of(omnimalloc, arguments.limit, pool)
        found, seconds = timed(Allocator(time_limit=arguments.limit, threads=1).find, pool)
        omnimalloc.validate_allocation(omnimalloc.Pool.from_allocations(found.allocations))
        ours.append(found.peak)
        gaps.append(100 * (found.peak / found.bound - 1))
        times.append(seconds)
        proven += found.proven
        for name, allocator in peers.items():
            placed, _ = timed(allocator.allocate, pool)
            omnimalloc.validate_allocation(omnimalloc.Pool.from_allocations(placed))
            peaks[name].append(max(it.offset + it.size for it in placed))
        if log:
            print(json.dumps({"seed": seed, "pattern": str(pattern), "ours": found.peak, "bound": found.bound,
                              "seconds": seconds, **{name: values[-1] for name, values in peaks.items()}}),
                  file=log, flush=True)
    print(f"{len(ours)} pools of {arguments.buffers} buffers, {arguments.limit:g} s each. Ours: median "
          f"{statistics.median(times):.2f} s; above the bound median {statistics.median(gaps):.2f} %, mean "
          f"{statistics.mean(gaps):.2f} %, at most {max(gaps):.2f} %; {proven} proven least.\n")
    print("| peer | ours lower | equal | higher | peer / ours, median | most | least |\n|---|---|---|---|---|---|---|")
    peaks["best of all"] = [min(values) for values in zip(*peaks.values())]
    for name, theirs in sorted(peaks.items(), key=lambda it: statistics.mean(it[1])):
        ratios = [peer / own for peer, own in zip(theirs, ours)]
        lower, higher = sum(it > 1 for it in ratios), sum(it < 1 for it in ratios)
        print(f"| {name} | {lower} | {len(ratios) - lower - higher} | {higher} | {statistics.median(ratios):.3f} "
              f"| {max(ratios):.3f} | {min(ratios):.4f} |")
    for name, why in without.items():
        print(f"\n{name} is left out: {why}")


if __name__ == "__main__":
    main()
