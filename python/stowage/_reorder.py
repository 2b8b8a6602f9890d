"""Another order of the nodes of an ExecuTorch graph, with a lower peak.

Nodes become operators of a graph JSON, their storages tensors, and whatever must stay in order an `after`. The
search for orders (docs/order.md) does the rest, and the nodes are moved to where it wants them.

What stays in order:
- a node and the nodes that it takes values from;
- a node that writes a storage, and all others that read or write it, whatever views they use: a schema says what is
  written (`alias_info.is_write`), and `storage_base` and views say what lies in one storage;
- nodes with effects or of unknown kind (delegates, control flow, random numbers, results that nobody uses), among
  each other. A node of unknown kind also counts as a writer of all that it takes;
- an allocation and the node that writes it, which follows it at once. What chunk and split give is one allocation of
  a list: those that take a tensor out of it take the allocation.

The search counts live bytes of a model of the graph. So both orders are planned, and the new one stays only if its
arenas are smaller.

Works on the fields of torch.fx that it names, so that it can be tested without torch.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from stowage._plan import plan


@dataclass
class Reordering:
    """What the search for an order has found: bytes of all arenas in the order of the graph, and in the new one, which
    are equal if the order stays. Nodes that lie at another place than before."""

    own: int
    found: int
    moved: int


@dataclass
class _Operator:
    """A node with the allocations that it is the first to take: those of its results."""

    node: Any
    allocations: list[Any] = field(default_factory=list)
    reads: set[int] = field(default_factory=set)
    writes: set[int] = field(default_factory=set)
    makes: set[int] = field(default_factory=set)
    after: set[int] = field(default_factory=set)


def reorder(graph_module: Any, graph_signature: Any = None, *, arenas: Callable[[], int], alignment: int = 16,
            inputs_cost: bool = True, outputs_cost: bool = True, **options: Any) -> Reordering:
    """Moves the nodes of the graph into the order with the least peak that is found, if its arenas are smaller.
    `arenas` plans the graph as it is and returns the bytes of its arenas. `options` are those of `stowage.plan` for
    searches: time_limit, seed, threads. Bodies of control flow are left as they are."""
    nodes = list(graph_module.graph.nodes)
    state = {name for part in ("inputs_to_parameters", "inputs_to_buffers")
             for name in getattr(graph_signature, part, None) or ()}
    reader = _Reader(nodes, state, alignment, inputs_cost, outputs_cost)
    description = reader.json()
    own = arenas()
    best = plan(description, order="search", alias="none", align=1, **options)
    chosen = [int(op) for op in best.steps["operator"] if 0 <= int(op) < len(reader.operators)]
    order = reader.first + [node for op in chosen for node in (*reader.operators[op].allocations,
                                                               reader.operators[op].node)] + reader.last
    if len(order) != len(nodes):
        raise AssertionError("a node is missing in the order that was found, a bug in stowage")
    moved = sum(a is not b for a, b in zip(order, nodes))
    if moved == 0:
        return Reordering(own, own, 0)
    _move(graph_module, order)
    found = arenas()
    if found < own:
        return Reordering(own, found, moved)
    _move(graph_module, nodes)
    return Reordering(own, own, 0)


def _move(graph_module: Any, order: Sequence[Any]) -> None:
    for before, node in zip(order, order[1:]):
        before.append(node)
    graph_module.graph.lint()
    graph_module.recompile()


class _Reader:
    """Takes the graph apart: nodes that stay first, operators, and the node that stays last."""

    def __init__(self, nodes: Sequence[Any], state: set[str], alignment: int, inputs_cost: bool,
                 outputs_cost: bool) -> None:
        self.first = [node for node in nodes if node.op in ("placeholder", "get_attr")]
        self.last = [node for node in nodes if node.op == "output"]
        self.operators: list[_Operator] = []
        self._alignment = alignment
        self._bytes: dict[int, int] = {}  # of each storage
        self._of: dict[int, set[int]] = {}  # the storages of each node
        self._specs: list[Any] = []  # keeps them, so that their ids stay theirs
        glued = _writers_of_allocations(nodes)
        self._number = {}  # of the operator that a node is in
        for node in nodes:
            if node.op in ("placeholder", "get_attr"):
                # Parameters and buffers cost the same in every order.
                counts = inputs_cost and node.op == "placeholder" and node.target not in state
                self._of[id(node)] = self._storages(_specs(node), counts)
            elif node.op != "output" and id(node) not in glued:
                self._add(node, glued)
        self.inputs = set().union(*(self._of[id(node)] for node in self.first)) if self.first else set()
        self.outputs = set().union(*(self._of.get(id(it), set()) for node in self.last for it in node.all_input_nodes))
        if not outputs_cost:
            self._bytes.update({storage: 0 for storage in self.outputs})
        self._order()

    def _storages(self, specs: Iterable[Any], counts: bool = True) -> set[int]:
        """The storages that tensors lie in; new ones are measured."""
        found = set()
        for spec in specs:
            root, seen = spec, {id(spec)}
            while getattr(root, "storage_base", None) is not None and id(root.storage_base) not in seen:
                root = root.storage_base
                seen.add(id(root))
            self._specs.append(root)
            found.add(id(root))
            is_planned = counts and not getattr(root, "const", False) and _dynamism(root) != "DYNAMIC_UNBOUND"
            self._bytes.setdefault(id(root), root.realign(self._alignment) if is_planned else 0)
        return found

    def _add(self, node: Any, glued: dict[int, int]) -> None:
        operator = _Operator(node)
        number = len(self.operators)
        taken = []
        for it in node.all_input_nodes:
            if glued.get(id(it)) == id(node):
                operator.allocations.append(it)
                taken += it.all_input_nodes
                self._number[id(it)] = number
            else:
                taken.append(it)
        for it in taken:
            if id(it) in self._number:
                operator.after.add(self._number[id(it)])
            operator.reads |= self._of.get(id(it), set())
        written = _written(node)
        if _is_view(node):
            self._of[id(node)] = self._of.get(id(node.args[0]), set())
        else:
            targets = [it for it in written or [] if it not in operator.allocations]
            shared = node.meta.get("_share_alloc_with_arg_idx")
            if shared is not None:
                targets.append(node.args[shared])
            operator.writes = set().union(*(self._of.get(id(it), set()) for it in targets))
            # What an operator returns of a storage that it writes is that storage.
            is_inside = bool(targets) and (shared is not None or not operator.allocations)
            own = operator.writes if is_inside else self._storages(_specs(node))
            self._of[id(node)] = own | operator.writes
            for it in operator.allocations:
                self._of[id(it)] = own
            if written is None:
                operator.writes = operator.reads | own
        self._number[id(node)] = number
        self.operators.append(operator)

    def _order(self) -> None:
        """Who makes a storage, and what must stay in order because of what is written, and of effects."""
        made = set(self.inputs)
        writer: dict[int, int] = {}
        readers: dict[int, list[int]] = {}
        effect = None
        for number, operator in enumerate(self.operators):
            operator.makes = self._of[id(operator.node)] - made
            made |= operator.makes
            for storage in operator.reads | operator.writes | self._of[id(operator.node)]:
                if storage in writer:
                    operator.after.add(writer[storage])
                if storage in operator.writes or storage in operator.makes:
                    operator.after.update(readers.pop(storage, []))
                    writer[storage] = number
                else:
                    readers.setdefault(storage, []).append(number)
            if _has_effects(operator):
                if effect is not None:
                    operator.after.add(effect)
                effect = number
            operator.after.discard(number)

    def json(self) -> bytes:
        """The graph for the planner. A last operator reads all outputs, so that they live to the end."""
        names = {storage: f"t{number}" for number, storage in enumerate(self._bytes)}
        used = self.inputs | set().union(*(it.makes for it in self.operators)) if self.operators else self.inputs
        operators = []
        for it in self.operators:
            touched = (it.reads | it.writes | self._of[id(it.node)]) - it.makes
            operators.append({"name": it.node.name, "type": str(_called(it.node) or it.node.op),
                              "inputs": sorted(names[storage] for storage in touched if storage in used),
                              "outputs": sorted(names[storage] for storage in it.makes), "after": sorted(it.after)})
        operators.append({"name": "output", "type": "output",
                          "inputs": sorted(names[storage] for storage in self.outputs if storage in used),
                          "outputs": [], "after": list(range(len(operators)))})
        subgraph = {"inputs": sorted(names[storage] for storage in self.inputs), "outputs": [], "operators": operators}
        tensors = [{"name": names[storage], "bytes": self._bytes[storage]} for storage in self._bytes if storage in used]
        return json.dumps({"format": "stowage-graph", "version": 1, "name": "graph", "tensors": tensors,
                           "subgraphs": [subgraph]}).encode()


def _writers_of_allocations(nodes: Sequence[Any]) -> dict[int, int]:
    """The node that takes an allocation first, which is the one that writes it, by the ids of both."""
    writers: dict[int, int] = {}
    for node in nodes:
        if node.op == "output" or _called(node) == "getitem" or _is_view(node):
            continue
        for it in node.all_input_nodes:
            if _called(it) == "alloc":
                writers.setdefault(id(it), id(node))
    return writers


def _called(node: Any) -> str | None:
    """The name of the function that a node calls."""
    return getattr(node.target, "__name__", None) if node.op == "call_function" else None


def _specs(node: Any) -> list[Any]:
    specs = node.meta.get("spec")
    found = specs if isinstance(specs, (list, tuple)) else [specs]
    return [spec for spec in found if hasattr(spec, "lifetime")]


def _schema(node: Any) -> Any:
    schema = getattr(node.target, "_schema", None)
    return schema if schema is not None else getattr(getattr(node.target, "_op", None), "_schema", None)


def _is_view(node: Any) -> bool:
    """Whether the result lies in the storage of the first argument."""
    called = _called(node) or ""
    return bool(node.args) and (called == "view" and _schema(node) is None or "et_view" in called)


def _written(node: Any) -> list[Any] | None:
    """The nodes whose storage a node writes; None if that is not known."""
    schema = _schema(node)
    if schema is None:
        return [] if _called(node) in ("view", "getitem", "alloc") else None
    found = []
    for index, argument in enumerate(schema.arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        given = node.args[index] if index < len(node.args) else node.kwargs.get(argument.name)
        found += [it for it in (given if isinstance(given, (list, tuple)) else [given]) if hasattr(it, "all_input_nodes")]
    return found


def _has_effects(operator: _Operator) -> bool:
    node = operator.node
    is_used = bool(node.users) or any(len(it.users) > 1 for it in operator.allocations)
    if _written(node) is None or not is_used:
        return True
    return any("nondeterministic" in str(tag) for tag in getattr(node.target, "tags", ()))


def _dynamism(spec: Any) -> str:
    return getattr(getattr(spec, "shape_dynamism", None), "name", "")
