"""One arena for the buffers of functions in MLIR: memref.alloc and memref.dealloc become memref.view.

    from stowage.mlir import plan_module

    reports = plan_module(module)  # an ir.Module of torch-mlir, or of other bindings of MLIR

docs/compilers.md explains it.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from stowage._errors import UsageError
from stowage._pack import pack


_ELEMENTS = {"i1": 1, "i8": 1, "i16": 2, "bf16": 2, "f16": 2, "i32": 4, "f32": 4, "i64": 8, "f64": 8, "index": 8}


@dataclass(frozen=True)
class FunctionReport:
    """What became of a function: bytes of its arena, a size that no offsets are below, the bytes without an arena that
    shares them, and how many allocations are in it or were left as they are."""

    name: str
    bytes: int
    bound: int
    apart: int
    placed: int
    left: int


@dataclass
class _Allocation:
    operation: Any
    free: Any
    size: int
    alignment: int
    lower: int
    upper: int


def plan_module(module: Any, *, alignment: int = 64, **options: Any) -> list[FunctionReport]:
    """Rewrites all functions of a module that allocate, and returns what became of each. The options are those of
    `stowage.pack`; `alignment` is the least of each buffer.

    A buffer is placed if its size and layout are fixed, its elements are ordinary numbers, it has no memory space, and
    both its memref.alloc and its memref.dealloc are in the function's only block. Others stay as they are.
    """
    if alignment < 1 or alignment & (alignment - 1):
        raise UsageError(f"alignment is {alignment}, expected a power of two")
    ir = importlib.import_module(type(module).__module__)
    reports = []
    with module.context, ir.Location.unknown():
        for function in list(module.body.operations):
            if function.operation.name != "func.func":
                continue
            report = _plan_function(ir, function, alignment, options)
            if report is not None:
                reports.append(report)
    return reports


def _plan_function(ir: Any, function: Any, alignment: int, options: dict[str, Any]) -> FunctionReport | None:
    blocks = list(function.operation.regions[0].blocks)
    if len(blocks) != 1:  # none: it is declared only
        return None
    block = blocks[0]
    operations = [it.operation for it in block.operations]
    allocations, left = _allocations_of(ir, operations, alignment)
    if not allocations:
        return None
    offsets = pack([it.lower for it in allocations], [it.upper for it in allocations],
                   [it.size for it in allocations], alignment=[it.alignment for it in allocations], **options)
    index, byte = ir.IndexType.get(), ir.IntegerType.get_signless(8)
    start = ir.InsertionPoint(operations[0])
    most = max(it.alignment for it in allocations)
    arena = ir.Operation.create(
        "memref.alloc", results=[ir.MemRefType.get([offsets.peak], byte)], ip=start,
        attributes={"alignment": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), most),
                    "operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 0])}).results[0]
    constants = {value: ir.Operation.create(
        "arith.constant", results=[index], attributes={"value": ir.IntegerAttr.get(index, value)}, ip=start).results[0]
        for value in sorted(set(offsets.tolist()))}
    for it, offset in zip(allocations, offsets.tolist()):
        result = it.operation.results[0]
        view = ir.Operation.create("memref.view", results=[result.type], operands=[arena, constants[offset]],
                                   ip=ir.InsertionPoint(it.operation)).results[0]
        it.free.erase()
        result.replace_all_uses_with(view)
        it.operation.erase()
    ir.Operation.create("memref.dealloc", operands=[arena], ip=ir.InsertionPoint(operations[-1]))
    name = ir.StringAttr(function.operation.attributes["sym_name"]).value
    return FunctionReport(name, offsets.peak, offsets.bound, sum(it.size for it in allocations), len(allocations), left)


def _allocations_of(ir: Any, operations: list[Any], alignment: int) -> tuple[list[_Allocation], int]:
    """Those that can be placed, and the number of others."""
    frees = {}
    for position, operation in enumerate(operations):
        if operation.name == "memref.dealloc":
            frees[operation.operands[0]] = (operation, position)
    allocations = []
    left = 0
    for position, operation in enumerate(operations):
        left += sum(_count(it) for region in operation.regions for it in region.blocks)
        if operation.name != "memref.alloc":
            continue
        shape = _size_of(ir, operation)
        free = frees.get(operation.results[0])
        if shape is None or free is None:
            left += 1
            continue
        size, natural = shape
        asked = 1
        if "alignment" in operation.attributes:
            asked = ir.IntegerAttr(operation.attributes["alignment"]).value
        allocations.append(_Allocation(operation, free[0], size, max(alignment, natural, asked), position, free[1]))
    return allocations, left


def _count(block: Any) -> int:
    """Allocations in a block and in those inside it."""
    return sum((it.operation.name == "memref.alloc") +
               sum(_count(inner) for region in it.operation.regions for inner in region.blocks)
               for it in block.operations)


def _size_of(ir: Any, operation: Any) -> tuple[int, int] | None:
    """Bytes of an allocation, and those of an element."""
    memref = ir.MemRefType(operation.results[0].type)
    plain = ir.MemRefType.get(memref.shape, memref.element_type) if memref.has_static_shape else None
    if plain != memref:  # a layout, a memory space or an open size
        return None
    element = _ELEMENTS.get(str(memref.element_type))
    if element is None:
        return None
    size = element
    for dimension in memref.shape:
        size *= dimension
    return size, element
