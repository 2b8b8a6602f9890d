"""Memory planning for ExecuTorch: our offsets instead of its greedy ones.

    from stowage.executorch import memory_planning_pass

    program = to_edge(exported).to_executorch(
        ExecutorchBackendConfig(memory_planning_pass=memory_planning_pass()))

docs/executorch.md explains it.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

from stowage._errors import Error, UsageError
from stowage._pack import pack
from stowage._reorder import Reordering, reorder

DEFAULT_ARENA = 1  # arena 0 is for constants


@dataclass(frozen=True)
class Bank:
    """A memory of the device, the arena `mem_id` of the runtime; `size` in bytes, or None for unlimited. The first
    bank of a list is the fastest, and each next one costs ten times as much per byte, unless `cost` says more."""

    name: str
    mem_id: int
    size: int | None = None
    cost: int | None = None


@dataclass(frozen=True)
class ArenaReport:
    """An arena of a planned method: its bytes, and a size that no offsets for it can be below. With several banks
    the bound is None, for which tensors are in one is a choice. Methods count from 0, in the order in which they are
    given to `to_edge`."""

    mem_id: int
    bytes: int
    bound: int | None
    method: int = 0

    @property
    def proven(self) -> bool:
        return self.bytes == self.bound


@dataclass
class _Planned:
    """A tensor with memory of its own, and those inside it."""

    spec: Any
    size: int
    lower: int
    upper: int
    inside: list[tuple[Any, int]]


class Planner:
    """An algorithm for ExecuTorch's `MemoryPlanningAlgorithmSuite`.

    `banks`, if given, are the memories to choose from; tensors with a `mem_id` stay in their arena. `time_limit` is
    in seconds, for each arena. `reports` has the arenas of all methods that were planned, by mem_id; a
    `memory_planning_pass` clears it before a program. Arenas of a method have room for those of its bodies.
    """

    __name__ = "stowage"

    def __init__(self, banks: Sequence[Bank] = (), *, time_limit: float = 1, seed: int = 0,
                 threads: int | None = None) -> None:
        ids = [bank.mem_id for bank in banks]
        if any(mem_id < 1 for mem_id in ids) or len(set(ids)) != len(ids):
            raise UsageError(f"banks have mem_id {ids}, expected different numbers of at least 1")
        self.banks = list(banks)
        self._planned: list[tuple[Any, list[ArenaReport]]] = []  # by method: its graph, its arenas
        self._options: dict[str, Any] = {"time_limit": time_limit, "seed": seed, "threads": threads}

    def __call__(self, alignment: int, specs: Iterable[Any], graph_module: Any, graph_signature: Any = None,
                 extra_padding: int = 0) -> Any:
        result, reports = self.plan(alignment, specs, graph_module, extra_padding)
        parts = {id(it) for it in getattr(graph_module, "modules", list)()} - {id(graph_module)}
        self._planned = [it for it in self._planned if id(it[0]) not in parts]
        if self._planned and self._planned[-1][0] is graph_module:  # tensors of another device
            self._planned[-1][1].extend(reports)
        else:
            self._planned.append((graph_module, reports))
        return result

    @property
    def reports(self) -> list[ArenaReport]:
        return [replace(report, method=method) for method, (_, reports) in enumerate(self._planned)
                for report in reports]

    def clear(self) -> None:
        """Forgets all reports."""
        self._planned.clear()

    def plan(self, alignment: int, specs: Iterable[Any], graph_module: Any,
             extra_padding: int = 0) -> tuple[Any, list[ArenaReport]]:
        """Plans a graph and reports nothing: the result for ExecuTorch, and the arenas."""
        all_specs = list(specs)
        for spec in all_specs:
            spec.realign(alignment)
        planned = _planned(all_specs)
        reserved = list(getattr(graph_module, "input_mem_buffer_sizes", None) or [])
        arenas: dict[int, list[_Planned]] = {}
        free: list[_Planned] = []
        for item in planned:
            if item.spec.mem_id is None and self.banks:
                free.append(item)
            else:
                arenas.setdefault(item.spec.mem_id or DEFAULT_ARENA, []).append(item)
        bounds: dict[int, int] = {}
        places: list[tuple[_Planned, int, int]] = []  # with mem_id and offset
        if self.banks:
            places += self._into_banks(free, arenas, alignment, extra_padding, reserved)
        for mem_id, items in sorted(arenas.items()):
            begin = _reserved(reserved, mem_id, alignment)
            offsets = pack([it.lower for it in items], [it.upper for it in items], [it.size for it in items],
                           alignment=alignment, **self._options)
            bounds[mem_id] = begin + offsets.bound + extra_padding
            places += [(item, mem_id, begin + int(offset)) for item, offset in zip(items, offsets)]
        sizes = [0] * (max([1, *(mem_id for _, mem_id, _ in places)]) + 1)
        for item, mem_id, offset in places:
            begin = _reserved(reserved, mem_id, alignment)
            sizes[mem_id] = max(sizes[mem_id], begin, offset + item.size)
        for mem_id in {mem_id for _, mem_id, _ in places}:
            sizes[mem_id] += extra_padding
        reports = [ArenaReport(mem_id, size, bounds.get(mem_id)) for mem_id, size in enumerate(sizes) if size > 0]
        return _result(places, sizes), reports

    def _into_banks(self, free: list[_Planned], arenas: dict[int, list[_Planned]], alignment: int, padding: int,
                    reserved: Sequence[int]) -> list[tuple[_Planned, int, int]]:
        """Chooses a bank for each tensor, so that the most traffic is in fast ones; takes those that are pinned to
        a bank out of `arenas`."""
        items = [(item, -1) for item in free]
        for index, bank in enumerate(self.banks):
            items += [(item, index) for item in arenas.pop(bank.mem_id, [])]
        if not items:
            return []
        begins = [_reserved(reserved, bank.mem_id, alignment) for bank in self.banks]
        memories = []
        for bank, begin in zip(self.banks, begins):
            room = None if bank.size is None else bank.size - begin - padding
            if room is not None and room < 0:
                raise Error(f"bank {bank.name} has {bank.size} bytes, expected at least {begin + padding}")
            memories.append(bank.name + ("" if room is None else f"={room}")
                            + ("" if bank.cost is None else f"@{bank.cost}"))
        offsets = pack([it.lower for it, _ in items], [it.upper for it, _ in items], [it.size for it, _ in items],
                       alignment=alignment, memory=memories, allowed=[index for _, index in items],
                       traffic=[_traffic(it) for it, _ in items], **self._options)
        if not offsets.fits:
            needs = ", ".join(f"{bank.name} {peak} of {bank.size}" for bank, peak in zip(self.banks, offsets.peaks))
            raise Error(f"the tensors do not fit into the banks; bytes needed: {needs}")
        return [(item, self.banks[bank].mem_id, begins[bank] + int(offset))
                for (item, _), bank, offset in zip(items, offsets.memory, offsets)]


def memory_planning_pass(banks: Sequence[Bank] = (), *, order: str = "keep", time_limit: float = 1, seed: int = 0,
                         threads: int | None = None, **options: Any) -> Any:
    """A `MemoryPlanningPass` of ExecuTorch that plans with `Planner`. `options` are those of `MemoryPlanningPass`,
    such as `alloc_graph_input`. Its attribute `planner` has the reports.

    `order="search"` first moves the nodes of the graph into an order with smaller arenas, where it is legal and there
    is one; `reorderings` then says what that brought, for each method of the last program. The search has `time_limit`
    seconds, too.
    """
    if order not in ("keep", "search"):
        raise UsageError(f"order is {order!r}, expected 'keep' or 'search'")
    planner = Planner(banks, time_limit=time_limit, seed=seed, threads=threads)
    measure = Planner(time_limit=time_limit, seed=seed, threads=threads)
    host = importlib.import_module("executorch.exir.memory_planning")
    base = importlib.import_module("executorch.exir.passes").MemoryPlanningPass

    class StowagePass(base):  # type: ignore[misc, valid-type]
        def __init__(self, **kept: Any) -> None:
            super().__init__(memory_planning_algo=host.MemoryPlanningAlgorithmSuite([planner]), **kept)
            self.planner = planner
            self.reorderings: list[Reordering] = []
            self._is_new = True  # the next method is the first of a program

        def run(self, graph_module: Any, graph_signature: Any = None) -> Any:
            if self._is_new:
                planner.clear()
                self.reorderings.clear()
            self._is_new = True  # should this one fail
            if order == "search":
                self._search(graph_module, graph_signature)
            result = super().run(graph_module, graph_signature)
            self._is_new = False
            return result

        def run_multimethod(self) -> None:
            super().run_multimethod()
            self._is_new = True

        def _search(self, graph_module: Any, graph_signature: Any) -> None:
            self._set_alloc_node_spec(graph_module)
            allocations = [node for part in graph_module.modules() if hasattr(part, "graph")
                           for node in part.graph.nodes if node.target is host.memory.alloc]

            def arenas() -> int:
                all_specs = host.update_all_tensors_lifetime(graph_module, graph_signature)
                planned = host.collect_specs_from_nodes(
                    graph_module.graph.nodes, graph_signature, do_assertion=False,
                    ignore_graph_input=not self.alloc_graph_input, ignore_graph_output=not self.alloc_graph_output,
                    ignore_mutable_buffers=not self.alloc_mutable_buffers or self.share_mutable_buffers)
                size = sum(measure.plan(self.alignment, planned, graph_module)[0].bufsizes)
                for spec in all_specs:  # so that the next order begins anew
                    spec.lifetime = [None, None]
                return size

            self.reorderings.append(reorder(
                graph_module, graph_signature, arenas=arenas, alignment=self.alignment,
                inputs_cost=self.alloc_graph_input, outputs_cost=self.alloc_graph_output, time_limit=time_limit,
                seed=seed, threads=threads))
            for node in allocations:  # the pass gives them again, and wants none there
                node.meta.pop("spec", None)

    return StowagePass(**options)


def _planned(specs: Sequence[Any]) -> list[_Planned]:
    """The tensors that get memory, in an order that does not depend on that of the set. A tensor that is inside
    another one extends the life of that."""
    items: dict[int, _Planned] = {}
    inside = []
    for spec in specs:
        if getattr(spec, "storage_base", None) is not None:
            inside.append(spec)
            continue
        lower, upper = _life(spec)
        items[id(spec)] = _Planned(spec, spec.allocated_memory, lower, upper, [])
    for spec in inside:
        root, offset, seen = spec, 0, set()
        while getattr(root, "storage_base", None) is not None:
            if id(root) in seen:
                raise Error("tensors are inside each other in a circle (storage_base)")
            seen.add(id(root))
            offset += root.storage_base_offset
            root = root.storage_base
        item = items.get(id(root))
        if item is None:
            raise Error(f"a tensor of shape {tuple(spec.shape)} is inside one that is not planned (storage_base)")
        lower, upper = _life(spec)
        item.lower, item.upper = min(item.lower, lower), max(item.upper, upper)
        item.size = max(item.size, offset + spec.allocated_memory)
        item.inside.append((spec, offset))
    return sorted(items.values(), key=lambda it: (it.lower, it.upper, it.size, it.spec.mem_id or 0, len(it.inside)))


def _life(spec: Any) -> tuple[int, int]:
    """Half-open; ExecuTorch's end is inclusive."""
    first, last = spec.lifetime
    if first is None or last is None:
        raise Error(f"a tensor of shape {tuple(spec.shape)} has lifetime {spec.lifetime}, expected two numbers")
    return first, max(first, last + 1)


def _traffic(item: _Planned) -> int:
    """Nobody counts reads here: one write and one read of each byte."""
    return 2 * item.size


def _reserved(reserved: Sequence[int], mem_id: int, alignment: int) -> int:
    """Bytes at the begin of an arena that belong to submodules, rounded up."""
    bytes_ = reserved[mem_id] if mem_id < len(reserved) else 0
    return -(-bytes_ // alignment) * alignment


def _result(places: list[tuple[_Planned, int, int]], sizes: list[int]) -> Any:
    """ExecuTorch's result. Tensors that share bytes, also by way of others, are in one object (mem_obj_id)."""
    try:
        host: Any = importlib.import_module("executorch.exir.memory_planning")
    except ImportError:  # whoever calls without ExecuTorch takes objects with the same fields
        host = SimpleNamespace(
            SpecAllocResult=lambda *values: SimpleNamespace(**dict(zip(("mem_id", "mem_obj_id", "mem_offset"), values))),
            MemoryAlgoResult=lambda *values: SimpleNamespace(**dict(zip(("spec_dict", "bufsizes"), values))))
    found = {}
    number = -1
    arena, end = None, 0
    for item, mem_id, offset in sorted(places, key=lambda it: (it[1], it[2])):
        if mem_id != arena or offset >= end:
            number += 1
            arena, end = mem_id, 0
        end = max(end, offset + item.size)
        found[item.spec] = host.SpecAllocResult(mem_id, number, offset)
        for spec, within in item.inside:
            found[spec] = host.SpecAllocResult(mem_id, number, offset + within)
    return host.MemoryAlgoResult(found, sizes)
