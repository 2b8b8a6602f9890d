"""The picture of a plan with matplotlib, which is loaded when it is first used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from stowage._errors import UsageError

if TYPE_CHECKING:
    from stowage._plan import Plan


def draw(plan: Plan, ax: Any, names: bool) -> Any:
    """Draws the buffers of all memories into these axes, one memory above the other."""
    try:
        patches = importlib.import_module("matplotlib.patches")
        colours = importlib.import_module("matplotlib").colormaps["tab20"]
        pyplot = importlib.import_module("matplotlib.pyplot") if ax is None else None
    except ImportError as error:
        raise UsageError("plot needs matplotlib: pip install matplotlib; plan.svg() is a picture without it") from error
    if pyplot is not None:
        ax = pyplot.subplots(figsize=(9, 5))[1]
    buffers = plan.buffers
    base, bases = 0, []
    for memory in plan.memories:
        bases.append(base)
        base += int(memory["peak"])
    last = max((int(it["upper"]) for it in buffers), default=1)
    for number, it in enumerate(buffers):
        lower, width, size = int(it["lower"]), int(it["upper"]) - int(it["lower"]), int(it["size"])
        if it["memory"] < 0 or width <= 0 or size <= 0:
            continue
        bottom = bases[int(it["memory"])] + int(it["offset"])
        ax.add_patch(patches.Rectangle((lower, bottom), width, size, facecolor=colours(number % 20), edgecolor="white",
                                       linewidth=0.5))
        if names and width > last / 12 and size > base / 25:
            ax.text(lower + width / 2, bottom + size / 2, str(it["id"]), ha="center", va="center", fontsize=7,
                    clip_on=True)
    for memory, bottom in zip(plan.memories, bases):
        if len(bases) > 1:
            ax.axhline(bottom, color="black", linewidth=0.8)
            ax.annotate(memory["name"], (0, bottom), xytext=(2, 2), textcoords="offset points", fontsize=8)
    ax.set(xlim=(0, last), ylim=(0, max(base, 1)), xlabel="position", ylabel="bytes",
           title=f"peak {plan.peak} bytes, bound {plan.bound}")
    return ax
