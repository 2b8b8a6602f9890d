"""A solver for torch-spyre, on a stand-in for its interface: the same names and contracts, and nothing else."""

import abc
import itertools
import random
import sys
import types
from dataclasses import dataclass, field
from typing import Optional

import pytest

from stowage.torch_spyre import solver_class


@dataclass
class Buffer:
    """`LifetimeBoundBuffer`: live from its first use to its last."""

    name: str
    size: int
    uses: list
    first_use_is_read: bool = False
    address: Optional[int] = None
    in_place_parents: list = field(default_factory=list)
    residency_reason: Optional[str] = None
    paired_with: list = field(default_factory=list)

    @property
    def start_time(self):
        return self.uses[0]

    @property
    def end_time(self):
        return self.uses[-1] + 1


class Common(abc.ABC):
    def __init__(self, buffers, size, alignment=128):
        self.buffers = list(buffers)
        self.limit = size
        self.alignment = alignment
        self.spill_reasons = {}

    def partition(self):
        self.spill_reasons = {it.name: it.residency_reason or "too large" for it in self.buffers
                              if it.residency_reason is not None or it.size > self.limit}
        return ([it for it in self.buffers if it.name not in self.spill_reasons],
                [it for it in self.buffers if it.name in self.spill_reasons])

    @abc.abstractmethod
    def plan_layout(self, log_lx_usage=False): ...


class ByAttributes(Common):
    supports_paired_buffers = False

    def __init__(self, buffers, size, alignment=128):
        super().__init__(buffers, size, alignment)
        assert self.supports_paired_buffers or not any(it.paired_with for it in self.buffers)


class ByMethods(Common):
    def __init__(self, buffers, size, alignment=128):
        super().__init__(buffers, size, alignment)
        assert self.supports_paired_buffers() or not any(it.paired_with for it in self.buffers)

    @classmethod
    @abc.abstractmethod
    def supports_paired_buffers(cls): ...

    @classmethod
    @abc.abstractmethod
    def linear_cost_only(cls): ...

    @classmethod
    def chooses_core_divisions(cls):
        return False


@pytest.fixture(params=[ByAttributes, ByMethods])
def theirs(request, monkeypatch):
    name = "torch_spyre._inductor.scratchpad.plan_solver"
    parts = name.split(".")
    for length in range(1, len(parts) + 1):
        monkeypatch.setitem(sys.modules, ".".join(parts[:length]), types.ModuleType(parts[length - 1]))
    sys.modules[name].MemoryPlanSolver = request.param
    return request.param


def check(buffers, limit, alignment):
    inside = [it for it in buffers if it.address is not None]
    for it in inside:
        assert it.address % alignment == 0 and it.address + it.size <= limit
    for a, b in itertools.combinations(inside, 2):
        if a.start_time < b.end_time and b.start_time < a.end_time:
            assert a.address + a.size <= b.address or b.address + b.size <= a.address


def test_all_fit(theirs):
    buffers = [Buffer("a", 100, [0, 1]), Buffer("b", 100, [1, 2]), Buffer("c", 100, [2, 3])]
    solver = solver_class(effort=10)(buffers, 256)
    assert isinstance(solver, theirs)
    placed = solver.plan_layout()
    assert placed == buffers and all(it.address is not None for it in placed)
    check(placed, 256, 128)


def test_what_saves_more_stays(theirs):
    buffers = [Buffer("once", 128, [0, 5]), Buffer("often", 128, [0, 1, 2, 3, 4, 5])]
    solver = solver_class(effort=10)(buffers, 128)
    solver.plan_layout()
    assert [it.address for it in buffers] == [None, 0]
    assert list(solver.spill_reasons) == ["once"]


def test_the_first_read_of_an_input_saves_nothing(theirs):
    buffers = [Buffer("input", 128, [0, 1], first_use_is_read=True), Buffer("made", 128, [0, 1])]
    solver_class(effort=10)(buffers, 128).plan_layout()
    assert [it.address for it in buffers] == [None, 0]


def test_barred_buffers_stay_outside(theirs):
    buffers = [Buffer("barred", 10, [0, 1], residency_reason="op"), Buffer("large", 999, [0, 1]),
               Buffer("a", 10, [0, 1])]
    solver = solver_class(effort=10)(buffers, 128)
    solver.plan_layout()
    assert [it.address for it in buffers] == [None, None, 0]
    assert solver.spill_reasons == {"barred": "op", "large": "too large"}
    assert solver_class()([], 128).plan_layout() == []


def test_planned_twice(theirs):
    with pytest.raises(ValueError, match="once"):
        solver_class()([Buffer("a", 10, [0, 1], address=0)], 128).plan_layout()


def test_random_buffers(theirs):
    draw = random.Random(1)
    for _ in range(10):
        buffers = [Buffer(str(i), draw.randint(1, 900), sorted(draw.sample(range(20), draw.randint(1, 4))))
                   for i in range(draw.randint(1, 30))]
        solver_class(effort=5)(buffers, 2048, 64).plan_layout()
        check(buffers, 2048, 64)


def test_their_own_interface():
    pytest.importorskip("torch_spyre", reason="torch-spyre is not on PyPI")
    buffers = [stowage_buffer(size) for size in (128, 256)]
    check(solver_class(effort=5)(buffers, 1024).plan_layout(), 1024, 128)


def stowage_buffer(size):
    from torch_spyre._inductor.scratchpad.plan_solver import LifetimeBoundBuffer

    return LifetimeBoundBuffer(name=str(size), size=size, uses=[0, 1])
