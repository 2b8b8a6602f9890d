"""Offsets as functions of the sizes that a model leaves open."""

from __future__ import annotations

import os
import pathlib
import tempfile
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from stowage._errors import UsageError
from stowage._options import Models, sources_of, texts_of
from stowage._plan import Plan, _command, load

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from stowage._options import Options


class OffsetsAt(NamedTuple):
    """Where buffers lie at some sizes: arrays of int64, in the order of `OffsetFunctions.ids`."""

    peak: int
    offsets: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]


class OffsetFunctions(Plan):
    """The plan of a model for ranges of sizes, with offsets for each size: `at`. Everything else is that of a plan with
    one offset for all sizes, those of the largest. `stowage.plan_functions` and `stowage.load` make it."""

    @property
    def ids(self) -> list[str]:
        """The names of the buffers."""
        return [str(it) for it in self.buffers["id"]]

    @property
    def ranges(self) -> dict[str, tuple[int, int, int]]:
        """Of each open size: the least, the most, and the step between them."""
        return {name: (least, most, step) for name, least, most, step in self._core.symbols}

    def at(self, **sizes: int) -> OffsetsAt:
        """Offsets, sizes in bytes, and the peak at these sizes. `at(**{"x[1]": 300})` takes any names.

        Raises UsageError for a size that is missing, unknown, or not in its range.
        """
        names = [name for name, _, _, _ in self._core.symbols]
        if sorted(sizes) != sorted(names):
            raise UsageError(f"sizes are {', '.join(sizes) or 'missing'}, expected {', '.join(names)}")
        peak, offsets, lengths = self._core.at([int(sizes[name]) for name in names])
        return OffsetsAt(peak, np.array(offsets, np.int64), np.array(lengths, np.int64))

    def __repr__(self) -> str:
        words = ", ".join(f"{name}={least}..{most}" for name, (least, most, _) in self.ranges.items())
        return f"<stowage.OffsetFunctions: {len(self.ids)} buffers, {words}>"


def plan_functions(models: Models, **options: Unpack[Options]) -> OffsetFunctions:
    """Plans memory for ranges of sizes, dim={"seq": "1..512"}, with offsets as functions of them.

    It is for one model that runs whole operators in one memory (docs/open-sizes.md).
    """
    sources = sources_of(models)
    texts = texts_of(options)
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "plan.json")
        _command("plan", sources, texts, ["--offsets", "symbolic", "-o", file], accepted=(0, 1))
        document = pathlib.Path(file).read_bytes()
    found = load(document, models, **options)
    assert isinstance(found, OffsetFunctions)
    return found
