"""Arrays for tables, and for what networks take and give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[np.void]


def table_of(columns: Mapping[str, Any]) -> Table:
    """A structured array: integers stay integers, everything else is an object."""
    fields = [(name, "i8" if isinstance(column, np.ndarray) else "O") for name, column in columns.items()]
    length = len(next(iter(columns.values())))
    table = np.empty(length, dtype=fields)
    for name, column in columns.items():
        if isinstance(column, np.ndarray):
            table[name] = column
        else:
            table[name] = np.fromiter(column, dtype=object, count=length)
    return table


def rows_of(rows: Sequence[tuple[Any, ...]], fields: Sequence[tuple[str, str]]) -> Table:
    return np.array(list(rows), dtype=list(fields))


_NUMPY_NAMES = {"boolean": "bool"}


def array_from(value: npt.ArrayLike) -> tuple[str, tuple[int, ...], bytes]:
    array = np.asarray(value)
    name = "boolean" if array.dtype == np.bool_ else array.dtype.name
    return name, tuple(array.shape), np.ascontiguousarray(array).tobytes()


def array_to(dtype: str, shape: tuple[int, ...], data: bytes) -> npt.NDArray[Any]:
    """Types that NumPy lacks are given as bytes."""
    try:
        return np.frombuffer(data, dtype=np.dtype(_NUMPY_NAMES.get(dtype, dtype))).reshape(shape).copy()
    except TypeError:
        return np.frombuffer(data, dtype=np.uint8).copy()
