"""Offsets for omnimalloc's allocations, pools and memories, also where their lives are vector clocks.

    from stowage.omnimalloc import Allocator

    pool = pool.allocate(Allocator())

docs/compilers.md explains it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stowage import _core
from stowage._errors import UsageError
from stowage._options import texts_of
from stowage._pack import pack

_FOR_CLOCKS = ("alignment", "capacity", "time_limit", "effort", "threads", "seed", "progress")


@dataclass(frozen=True)
class Found:
    """What is known of a placing."""

    allocations: tuple[Any, ...]
    """The same in the same order, each with an offset."""
    peak: int
    bound: int
    """No placing has a lower peak."""
    proven: bool
    """Whether it is proven that no placing has a lower peak than this one."""
    fits: bool
    """Whether the peak is at most the capacity."""


class Allocator:
    """What omnimalloc's `Pool.allocate` and `Memory.allocate` take. The options are those of `stowage.pack`; with vector
    clocks only `alignment`, `capacity`, `time_limit`, `effort`, `threads`, `seed` and `progress`."""

    def __init__(self, **options: Any) -> None:
        self.options = options

    def allocate(self, allocations: Sequence[Any]) -> tuple[Any, ...]:
        """The same allocations in the same order, each with an offset. Those that have one keep it."""
        return self.find(allocations).allocations

    def find(self, allocations: Sequence[Any]) -> Found:
        """The same, with the peak and what is proven about it."""
        if not allocations:
            return Found((), 0, 0, True, True)
        if any(isinstance(it.start, tuple) for it in allocations):
            return _by_clocks(allocations, self.options)
        start, end, size = ([getattr(it, name) for it in allocations] for name in ("start", "end", "size"))
        offsets = pack(start, end, size, pinned=_pins_of(allocations), **self.options)
        return Found(_placed(allocations, offsets), offsets.peak, offsets.bound, offsets.proven, offsets.fits)


def _pins_of(allocations: Sequence[Any]) -> list[int]:
    return [-1 if it.offset is None else it.offset for it in allocations]


def _placed(allocations: Sequence[Any], offsets: Any) -> tuple[Any, ...]:
    return tuple(it.with_offset(int(offset)) for it, offset in zip(allocations, offsets))


def _by_clocks(allocations: Sequence[Any], options: dict[str, Any]) -> Found:
    unknown = set(options) - set(_FOR_CLOCKS)
    if unknown:
        raise UsageError(f"{sorted(unknown)[0]} is not for vector clocks, expected one of {', '.join(_FOR_CLOCKS)}")
    threads = {len(clock) if isinstance(clock, tuple) else 1 for it in allocations for clock in (it.start, it.end)}
    if len(threads) > 1:
        raise UsageError(f"clocks have {sorted(threads)} threads, expected the same number in all")
    rest = {name: value for name, value in options.items() if name not in ("alignment", "progress")}
    if "time_limit" in rest:
        rest["time_limit"] = float(rest["time_limit"])
    begin, end = (np.array([getattr(it, name) for it in allocations], dtype=np.int64).reshape(len(allocations), -1)
                  for name in ("start", "end"))
    size, pins = (np.array(values, dtype=np.int64)
                  for values in ([it.size for it in allocations], _pins_of(allocations)))
    alignment = np.array([options.get("alignment", 1)], dtype=np.int64)
    offsets, peak, bound, proven, fits = _core.pack_partial(begin, end, size, alignment, pins, texts_of(rest),
                                                            options.get("progress"))
    return Found(_placed(allocations, offsets), peak, bound, proven or peak == bound, fits)
