"""A solver for torch-spyre's scratchpad: which buffers live in it, and where.

    from stowage.torch_spyre import solver_class

    solver = solver_class(time_limit=1)(buffers, size, alignment)
    placed = solver.plan_layout()  # each with an address, or None: it stays in the device's memory

The interface is `MemoryPlanSolver` of torch_spyre/_inductor/scratchpad/plan_solver.py: of commit 032c895 of
github.com/torch-spyre/torch-spyre, where `supports_paired_buffers` is an attribute, and of 2954ab9, where solvers
answer such questions by class methods. Both import as `torch_spyre`.

What a buffer saves in the scratchpad is its size, times its reads and writes there; of an input of the graph the
first read fills it and saves nothing. Lives are `start_time` to before `end_time`. Not used are handovers in place
(`in_place_parents`; the interface allows, but never asks for them), pairs and core divisions.
"""

from __future__ import annotations

import importlib
from typing import Any

from stowage._pack import pack

# What solvers are asked by class methods: whether they do more than place.
_ABILITIES = ("supports_paired_buffers", "decides_lx_relayouts", "chooses_tilings", "replans_after_tiling",
              "linear_cost_only", "chooses_core_divisions")
_COST_OUTSIDE = 10  # of a byte read or written, with 1 in the scratchpad


def solver_class(**options: Any) -> type:
    """A `MemoryPlanSolver`. The options are those of `stowage.pack`: time_limit, effort, threads, seed, progress."""
    base = importlib.import_module("torch_spyre._inductor.scratchpad.plan_solver").MemoryPlanSolver

    def plan_layout(self: Any, log_lx_usage: bool = False) -> list[Any]:
        if any(it.address is not None for it in self.buffers):
            raise ValueError("a buffer has an address, expected none: buffers are planned once")
        candidates, _ = self.partition()
        if candidates:
            found = pack([it.start_time for it in candidates], [it.end_time for it in candidates],
                         [it.size for it in candidates], alignment=self.alignment,
                         memory=[f"scratchpad={self.limit}@1", f"outside@{_COST_OUTSIDE}"],
                         traffic=[_traffic_of(it) for it in candidates], **options)
            for buffer, offset, memory in zip(candidates, found, found.memory):
                buffer.address = int(offset) if memory == 0 else None
                if memory != 0:
                    self.spill_reasons[buffer.name] = "others save more in the scratchpad"
        return list(self.buffers)

    members: dict[str, Any] = {
        "__doc__": "Buffers that save most, by stowage.", "__module__": __name__, "plan_layout": plan_layout}
    for name in _ABILITIES:
        if callable(getattr(base, name, None)):
            members[name] = classmethod(lambda cls: False)
    return type("LayoutSolver", (base,), members)


def _traffic_of(buffer: Any) -> int:
    accesses = len(buffer.uses) - (1 if buffer.first_use_is_read else 0)
    return int(buffer.size * max(accesses, 0))
