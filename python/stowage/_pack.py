"""Offsets for buffers whose sizes and live ranges are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, TypeVar, overload

import numpy as np
import numpy.typing as npt

from stowage import _core
from stowage._errors import UsageError
from stowage._options import texts_of

if TYPE_CHECKING:
    from typing_extensions import Unpack


_KNOWN = ("peak", "peaks", "memory", "bound", "strategy", "interrupted", "fits")


class Offsets(np.ndarray):
    """An array of offsets (int64), with what is known about all of them together.

    It cannot be changed, so that what it says stays true. A part of it, and a result of arithmetic, is an ordinary
    array; so is `copy()`, which can be changed. Pickles and `copy.copy` keep everything.
    """

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

    @property
    def proven(self) -> bool:
        """Whether the peak is the bound."""
        return self.peak == self.bound

    def __getattr__(self, name: str) -> Any:
        if name in _KNOWN:
            raise AttributeError(f"this array is a part or a result of others and has no {name}; "
                                 "what pack returned has")
        raise AttributeError(f"'Offsets' object has no attribute {name!r}")

    def __getitem__(self, key: Any) -> Any:
        return np.asarray(self)[key]

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        return getattr(ufunc, method)(*_plain(inputs), **{name: _plain(it) for name, it in keywords.items()})

    def __array_function__(self, function: Any, types: Any, arguments: Any, keywords: Any) -> Any:
        return function(*_plain(arguments), **{name: _plain(it) for name, it in keywords.items()})

    def copy(self, order: Any = "C") -> npt.NDArray[np.int64]:  # type: ignore[override]
        return np.array(np.asarray(self), order=order)

    def __copy__(self) -> Offsets:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: Any) -> Offsets:
        return _offsets(*self.__reduce__()[1])

    def __reduce__(self) -> tuple[Any, ...]:
        if "peak" not in self.__dict__:
            return np.asarray(self).__reduce__()  # type: ignore[return-value]
        known = {name: getattr(self, name) for name in _KNOWN}
        return _offsets, (self.copy(), {**known, "peaks": list(self.peaks), "memory": np.array(self.memory)})


def _plain(value: Any) -> Any:
    """Offsets as ordinary arrays, also inside lists and tuples."""
    if isinstance(value, Offsets):
        return np.asarray(value)
    return type(value)(_plain(it) for it in value) if type(value) in (list, tuple) else value


def _offsets(values: npt.NDArray[np.int64], known: dict[str, Any]) -> Offsets:
    offsets = values.view(Offsets)
    for name, value in known.items():
        setattr(offsets, name, value)
    offsets.memory.flags.writeable = False
    offsets.flags.writeable = False
    return offsets


class _Buffer(Protocol):
    """An object that `pack` takes: `size` bytes from position `start` to before `end`."""

    @property
    def size(self) -> int: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


class _Placeable(_Buffer, Protocol):
    def with_offset(self, offset: int, /) -> Any: ...


_P = TypeVar("_P", bound=_Placeable)


class _Common(TypedDict, total=False):
    alignment: npt.ArrayLike | None
    align: npt.ArrayLike | None
    capacity: int | str | None
    strategy: str
    time_limit: float | None
    effort: int | None
    threads: int | None
    seed: int
    progress: Callable[[str, float], object] | None


class _Arrays(_Common, total=False):
    pinned: npt.ArrayLike | None
    memory: Any
    allowed: npt.ArrayLike | None
    traffic: npt.ArrayLike | None


@overload
def pack(lower: Sequence[_P], **options: Unpack[_Common]) -> list[_P]: ...
@overload
def pack(
    lower: npt.ArrayLike, upper: npt.ArrayLike, size: npt.ArrayLike, **options: Unpack[_Arrays]
) -> Offsets: ...
@overload
def pack(
    lower: Mapping[str, npt.ArrayLike] | Sequence[Mapping[str, Any]] | Sequence[tuple[int, ...]] | Sequence[_Buffer]
    | npt.NDArray[np.void] | Any,
    **options: Unpack[_Arrays],
) -> Offsets: ...
def pack(
    lower: Any,
    upper: npt.ArrayLike | None = None,
    size: npt.ArrayLike | None = None,
    *,
    alignment: npt.ArrayLike | None = None,
    align: npt.ArrayLike | None = None,
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
    every machine. Ctrl-C returns the best offsets so far. `progress(what, fraction)` hears what is tried, and the part
    of the time limit that is over (0 with `effort`); if it returns False, the best offsets so far are returned.

    >>> import stowage
    >>> offsets = stowage.pack(lower=[0, 1, 2], upper=[2, 3, 4], size=[32, 64, 32])
    >>> offsets.peak, offsets.bound, offsets.proven
    (96, 96, True)
    >>> int(offsets[0]) == int(offsets[2])  # these two never live at the same time
    True

    With several memories (`memory={"SRAM": "64KiB", "DRAM": None}`, the fastest first), `allowed` has the index of
    the memory that a buffer must be in, or -1, and `traffic` the bytes that are read and written, which decide
    what fast memory is for.

    One table stands for the three arrays, too: a DataFrame, a structured array, a dict of columns, or a list of dicts,
    with lower (or start), upper (or end), size (or bytes), and perhaps alignment and offset, which pins; or a list of
    tuples (lower, upper, size), perhaps with an alignment behind, or a name in front.

    >>> stowage.pack([(0, 2, 32), (1, 3, 64)]).peak
    96

    A list of objects with `size`, `start` and `end` works, too; an `offset` that is not None pins an object there.
    Objects that have `with_offset` are returned with their offsets, as a list; for others, the result is the array.
    `align` is another name of `alignment`, which `stowage.plan` knows by both names, too.
    """
    if alignment is not None and align is not None:
        raise UsageError("alignment and align are one option, expected one of them")
    alignment = align if alignment is None else alignment
    if upper is None and size is None:
        table = _columns_of(lower)
        if table is not None:
            return _pack_table(table, alignment=alignment, pinned=pinned, capacity=capacity, memory=memory,
                               allowed=allowed, traffic=traffic, strategy=strategy, time_limit=time_limit,
                               effort=effort, threads=threads, seed=seed, progress=progress)
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
    alignments = _column("alignment", np.atleast_1d(np.asarray(1 if alignment is None else alignment)))
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
    return _offsets(found, {"peak": sum(peaks), "peaks": peaks, "memory": memories, "bound": bound,
                            "strategy": used, "interrupted": interrupted, "fits": fits})


_NAMES = {"start": "lower", "end": "upper", "bytes": "size"}


def _columns_of(table: Any) -> dict[str, Any] | None:
    """The columns of a table by name; None: it is no table but a list of objects."""
    if hasattr(table, "columns") and hasattr(table, "to_dict"):  # a DataFrame
        names = {str(name): np.asarray(table[name]) for name in table.columns}
    elif isinstance(table, np.ndarray) and table.dtype.names:
        names = {name: table[name] for name in table.dtype.names}
    elif isinstance(table, Mapping):
        names = dict(table)
    elif isinstance(table, Sequence) and len(table) > 0 and all(isinstance(it, Mapping) for it in table):
        keys = {key for row in table for key in row}
        missing = [key for key in keys - {"alignment", "offset"} if any(key not in row for row in table)]
        if missing:
            raise UsageError(f"a buffer has no {missing[0]!r}, expected lower, upper and size in all")
        empty = {"alignment": 1, "offset": None}
        names = {key: [row.get(key, empty.get(key)) for row in table] for key in keys}
    elif isinstance(table, Sequence) and len(table) > 0 and all(isinstance(it, tuple) for it in table):
        if all(it and isinstance(it[0], str) for it in table):
            table = [it[1:] for it in table]
        lengths = {len(it) for it in table}
        if not (lengths == {3} or lengths == {4}) or any(hasattr(it, "_fields") for it in table):
            if any(hasattr(it, "_fields") for it in table):
                return None if hasattr(table[0], "start") else _columns_of([it._asdict() for it in table])
            raise UsageError(f"tuples have {sorted(lengths)} elements, expected (lower, upper, size) or "
                             "(lower, upper, size, alignment)")
        names = dict(zip(("lower", "upper", "size", "alignment"), zip(*table)))
    else:
        return None
    return {_NAMES.get(name, name): values for name, values in names.items()}


def _pack_table(table: dict[str, Any], **options: Any) -> Any:
    for name in ("lower", "upper", "size"):
        if name not in table:
            raise UsageError(f"the table has no column {name}, expected lower, upper and size; it has "
                             f"{', '.join(sorted(table)) or 'none'}")
    if options["alignment"] is None and "alignment" in table:
        options["alignment"] = table["alignment"]
    if options["pinned"] is None and "offset" in table:
        given = [-1 if it is None or it != it else it for it in table["offset"]]  # NaN is not itself
        if any(int(it) != it for it in given):
            raise UsageError("offset has parts of bytes, expected whole numbers")
        options["pinned"] = [int(it) for it in given]
    return pack(table["lower"], table["upper"], table["size"], **options)


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
