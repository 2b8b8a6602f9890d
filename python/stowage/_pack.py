"""Offsets for buffers whose sizes and live ranges are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stowage import _core
from stowage._errors import UsageError
from stowage._options import texts_of


class Offsets(np.ndarray):
    """An array of offsets (int64), with what is known about all of them together."""

    peak: int
    """The highest offset + size; with several memories, the sum over them."""
    peaks: list[int]
    """The same for each memory."""
    memory: npt.NDArray[np.int64]
    """For each buffer, the index of its memory."""
    bound: int
    """No offsets have a lower peak; with several memories, none in the memories that the buffers are in."""
    strategy: str
    """The strategy that found them."""
    interrupted: bool
    """Whether the search was cut short by the time limit or Ctrl-C."""
    fits: bool
    """Whether the peak is at most the capacity."""

    def __array_finalize__(self, source: Any) -> None:
        for name in ("peak", "peaks", "memory", "bound", "strategy", "interrupted", "fits"):
            setattr(self, name, getattr(source, name, None))

    @property
    def proven(self) -> bool:
        """Whether the peak is the bound."""
        return self.peak == self.bound


def pack(
    lower: npt.ArrayLike | Sequence[Any],
    upper: npt.ArrayLike | None = None,
    size: npt.ArrayLike | None = None,
    *,
    alignment: npt.ArrayLike = 1,
    pinned: npt.ArrayLike | None = None,
    capacity: int | str | None = None,
    memory: Any = None,
    allowed: npt.ArrayLike | None = None,
    traffic: npt.ArrayLike | None = None,
    strategy: str = "auto",
    time_limit: float | None = None,
    effort: int | None = None,
    threads: int | None = None,
    seed: int = 0,
    progress: Callable[[str, float], object] | None = None,
) -> Any:
    """Gives every buffer an offset; no two that live at the same time share bytes, and the peak is low.

    Buffer i needs size[i] bytes from position lower[i] to before upper[i]. `alignment` is one number or one for
    each buffer. pinned[i], unless negative, is an offset that buffer i must have. Arrays of int64 are read in
    place. `time_limit` (default 3) is in seconds; `effort` limits work instead, so that the offsets are the same on
    every machine. Ctrl-C returns the best offsets so far. `progress(what, fraction)` is called now and then.

    >>> import stowage
    >>> offsets = stowage.pack(lower=[0, 1, 2], upper=[2, 3, 4], size=[32, 64, 32])
    >>> offsets.peak, offsets.bound, offsets.proven
    (96, 96, True)
    >>> int(offsets[0]) == int(offsets[2])  # these two never live at the same time
    True

    With several memories (`memory={"SRAM": "64KiB", "DRAM": None}`, the fastest first), `allowed` has the index of
    the memory that a buffer must be in, or -1, and `traffic` the bytes that are read and written, which decide
    what fast memory is for.

    A list of objects with `size`, `start` and `end` works, too; an `offset` that is not None pins an object there.
    Objects that have `with_offset` are returned with their offsets, as a list; for others, the result is the array.
    """
    if upper is None and size is None:
        for name, given in (("pinned", pinned), ("memory", memory), ("allowed", allowed), ("traffic", traffic)):
            if given is not None:
                raise UsageError(f"{name} is for lower, upper and size, not for a list of allocations")
        return _pack_objects(
            lower, alignment=alignment, capacity=capacity, strategy=strategy, time_limit=time_limit,
            effort=effort, threads=threads, seed=seed, progress=progress)
    if upper is None or size is None:
        raise UsageError("pack needs lower, upper and size, or one list of allocations")
    columns = [_column(name, values) for name, values in (("lower", lower), ("upper", upper), ("size", size))]
    for name, column in zip(("upper", "size"), columns[1:]):
        if len(column) != len(columns[0]):
            raise UsageError(f"{name} has {len(column)} elements, expected {len(columns[0])} as in lower")
    count = len(columns[0])
    alignments = _column("alignment", np.atleast_1d(np.asarray(alignment)))
    if len(alignments) not in (1, count):
        raise UsageError(f"alignment has {len(alignments)} elements, expected 1 or {count}")
    wishes = []
    for name, values in (("pinned", pinned), ("allowed", allowed), ("traffic", traffic)):
        wishes.append(None if values is None else _column(name, values))
        if wishes[-1] is not None and len(wishes[-1]) != count:
            raise UsageError(f"{name} has {len(wishes[-1])} elements, expected {count}")
    texts = texts_of({"capacity": capacity, "memory": memory, "strategy": strategy,
                      "time_limit": None if time_limit is None else float(time_limit), "effort": effort,
                      "threads": threads, "seed": seed})
    found, memories, peaks, bound, used, interrupted, fits = _core.pack(
        columns[0], columns[1], columns[2], alignments, wishes[0], wishes[1], wishes[2], texts, progress)
    offsets = found.view(Offsets)
    offsets.peak, offsets.peaks, offsets.memory = sum(peaks), peaks, memories
    offsets.bound, offsets.strategy, offsets.interrupted, offsets.fits = bound, used, interrupted, fits
    return offsets


def _column(name: str, values: Any) -> npt.NDArray[np.int64]:
    array = np.asarray(values)
    if array.ndim != 1:
        raise UsageError(f"{name} has {array.ndim} dimensions, expected 1")
    if array.size and array.dtype.kind not in "iu":
        raise UsageError(f"{name} has elements of type {array.dtype}, expected integers")
    if array.dtype.kind == "u" and array.size and int(array.max()) >= 2**63:
        raise UsageError(f"{name} has {int(array.max())}, expected less than 2**61")
    return np.ascontiguousarray(array, dtype=np.int64)


def _pack_objects(allocations: Any, **options: Any) -> Any:
    allocations = list(allocations)
    for allocation in allocations:
        for name in ("size", "start", "end"):
            if not isinstance(getattr(allocation, name, None), (int, np.integer)):
                raise UsageError(f"an allocation is {allocation!r}, expected whole numbers size, start and end")
    offsets = pack(*([getattr(it, name) for it in allocations] for name in ("start", "end", "size")),
                   pinned=[_pin_of(it) for it in allocations], **options)
    if allocations and all(hasattr(it, "with_offset") for it in allocations):
        return [it.with_offset(int(offset)) for it, offset in zip(allocations, offsets)]
    return offsets


def _pin_of(allocation: Any) -> int:
    """The offset that an allocation must have; -1: any."""
    offset = getattr(allocation, "offset", None)
    if offset is None:
        return -1
    if not isinstance(offset, (int, np.integer)) or offset < 0:
        raise UsageError(f"an allocation has the offset {offset!r}, expected None or a whole number of at least 0")
    return int(offset)
