"""Offsets for omnimalloc's allocations, pools and memories, also where their lives are vector clocks.

    from stowage.omnimalloc import Allocator

    pool = pool.allocate(Allocator())

docs/compilers.md explains it.
"""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stowage import _core
from stowage._errors import Error, UsageError
from stowage._pack import pack


class Allocator:
    """What omnimalloc's `Pool.allocate` and `Memory.allocate` take. The options are those of `stowage.pack`; with vector
    clocks only `time_limit`, `effort` and `seed`."""

    def __init__(self, **options: Any) -> None:
        self.options = options

    def allocate(self, allocations: Sequence[Any]) -> tuple[Any, ...]:
        """The same allocations in the same order, each with an offset. Those that have one keep it."""
        if not any(isinstance(it.start, tuple) for it in allocations):
            return tuple(pack(list(allocations), **self.options)) if allocations else ()
        offsets = _solve(allocations, self.options)
        return tuple(it.with_offset(offset) for it, offset in zip(allocations, offsets))


def _ends_before(first: Any, second: Any) -> bool:
    return all(end <= start for end, start in zip(first.end, second.start))


def _solve(allocations: Sequence[Any], options: dict[str, Any]) -> list[int]:
    """Each allocation lives at a time of its own, and pairs that may be live at once are kept apart."""
    unknown = set(options) - {"time_limit", "effort", "seed"}
    if unknown:
        raise UsageError(f"{sorted(unknown)[0]} is not for vector clocks, expected time_limit, effort or seed")
    filled = [i for i, it in enumerate(allocations) if it.size > 0]
    apart = [{"first": a, "second": b, "reason": ""} for a, b in itertools.combinations(filled, 2)
             if not _ends_before(allocations[a], allocations[b]) and not _ends_before(allocations[b], allocations[a])]
    pins = [{"buffer": i, "pool": 0, "offset": allocations[i].offset, "exclusive_for_all_time": False}
            for i in filled if allocations[i].offset is not None]
    capacity = sum(allocations[i].size for i in filled)
    capacity += max((pin["offset"] + allocations[pin["buffer"]].size for pin in pins), default=0)
    document = {
        "schema_version": 1, "instance": "omnimalloc", "profile": "structured", "metadata": {},
        "problem": {
            "pools": [{"id": 0, "name": "pool", "capacity": capacity, "reserved_ranges": []}],
            "buffers": [{"id": i, "name": str(allocations[i].id), "size": allocations[i].size, "alignment": 1,
                         "live_intervals": [{"lower": 2 * i, "upper": 2 * i + 1}], "allowed_pools": [0]}
                        for i in filled],
            "constraints": {"colocations": [], "separations": apart, "temporal_exclusions": [],
                            "pinned_allocations": pins},
            "cost_model": {"reuse_penalties": []},
            "objective": {"aggregation": "lexicographic",
                          "terms": ["capacity_overflow", "total_peak", "reuse_cost"]}}}
    with tempfile.TemporaryDirectory() as folder:
        problem, solution = Path(folder, "problem.json"), Path(folder, "solution.json")
        problem.write_text(json.dumps(document))
        arguments = ["stowage", "pack", str(problem), "-o", str(solution)]
        for name, value in options.items():
            arguments += ["--" + name.replace("_", "-"), str(value)]
        status, _, message = _core.command(arguments)
        if status != 0:
            raise Error(message.strip())
        offsets = [0] * len(allocations)
        for place in json.loads(solution.read_text())["placements"]:
            offsets[place["buffer"]] = place["offset"]
    return offsets
