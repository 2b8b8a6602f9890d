"""Offsets for omnimalloc: on stand-ins with the attributes that ours uses, and on its own classes if they are there."""

import itertools
import random
from dataclasses import dataclass, replace

import pytest

import stowage
from stowage.omnimalloc import Allocator


@dataclass(frozen=True)
class Allocation:
    id: str
    size: int
    start: object
    end: object
    offset: object = None

    def with_offset(self, offset):
        return replace(self, offset=offset)


def may_meet(a, b):
    first, second = ((a.start, a.end), (b.start, b.end))
    if not isinstance(a.start, tuple):
        first, second = (((it.start,), (it.end,)) for it in (a, b))
    over = lambda x, y: all(end <= start for end, start in zip(x[1], y[0]))  # noqa: E731
    return not over(first, second) and not over(second, first)


def check(allocations):
    for a, b in itertools.combinations(allocations, 2):
        if may_meet(a, b):
            assert a.offset + a.size <= b.offset or b.offset + b.size <= a.offset


def test_lives_of_one_clock():
    given = [Allocation("a", 32, 0, 2), Allocation("b", 64, 1, 3), Allocation("c", 32, 2, 4)]
    placed = Allocator().allocate(given)
    check(placed)
    assert [it.id for it in placed] == ["a", "b", "c"]
    assert max(it.offset + it.size for it in placed) == 96
    assert Allocator().allocate([]) == ()


def test_lives_of_vector_clocks():
    # Two threads; "c" begins on both after "a" and "b" have ended.
    given = [Allocation("a", 32, (0, 0), (1, 0)), Allocation("b", 64, (0, 0), (0, 1)),
             Allocation("c", 48, (1, 1), (2, 2)), Allocation("none", 0, (0, 0), (1, 1))]
    placed = Allocator(effort=10).allocate(given)
    check(placed)
    assert max(it.offset + it.size for it in placed) == 96


def test_an_offset_stays():
    given = [Allocation("a", 32, (0, 0), (1, 0), 16), Allocation("b", 16, (0, 0), (0, 1))]
    placed = Allocator(effort=10).allocate(given)
    check(placed)
    assert [it.offset for it in placed] == [16, 0]


def test_pins_that_overlap():
    given = [Allocation("a", 32, (0, 0), (1, 0), 16), Allocation("b", 16, (0, 0), (0, 1), 24)]
    with pytest.raises(stowage.Error):
        Allocator(effort=10).allocate(given)


def test_what_is_known_of_a_placing():
    given = [Allocation("a", 32, (0, 0), (1, 0)), Allocation("b", 64, (0, 0), (0, 1)),
             Allocation("c", 48, (1, 1), (2, 2))]
    found = Allocator(effort=10).find(given)
    check(found.allocations)
    assert (found.peak, found.bound, found.proven, found.fits) == (96, 96, True, True)
    tight = Allocator(effort=10, capacity=95).find(given)
    check(tight.allocations)
    assert not tight.fits and tight.bound == 96
    line = Allocator().find([Allocation("a", 32, 0, 2), Allocation("b", 64, 1, 3)])
    assert (line.peak, line.bound, line.proven, line.fits) == (96, 96, True, True)


def test_alignment():
    given = [Allocation(str(i), 10, (0, 0), (1, 1)) for i in range(3)]
    assert sorted(it.offset for it in Allocator(effort=10, alignment=16).allocate(given)) == [0, 16, 32]


def test_clocks_of_different_threads():
    with pytest.raises(stowage.UsageError, match="threads"):
        Allocator().allocate([Allocation("a", 32, (0, 0), (1, 0)), Allocation("b", 32, (0, 0, 0), (1, 0, 0))])


def test_a_thousand_buffers():
    draw = random.Random(3)
    given = []
    for i in range(1000):
        begin = [draw.randint(0, 200), draw.randint(0, 200)]
        end = list(begin)
        end[draw.randint(0, 1)] += draw.randint(1, 30)
        given.append(Allocation(str(i), draw.randint(1, 1000), tuple(begin), tuple(end)))
    found = Allocator(effort=20).find(given)
    check(found.allocations)
    assert found.bound <= found.peak


def test_options():
    with pytest.raises(stowage.UsageError, match="strategy"):
        Allocator(strategy="exact").allocate([Allocation("a", 32, (0, 0), (1, 0))])
    with pytest.raises(stowage.UsageError, match="effort"):
        Allocator(effort=-1).allocate([Allocation("a", 32, (0, 0), (1, 0))])


def test_random_vector_clocks_keep_apart_what_may_meet():
    draw = random.Random(7)
    for _ in range(20):
        given = []
        for i in range(draw.randint(2, 12)):
            start = tuple(draw.randint(0, 5) for _ in range(3))
            end = tuple(it + draw.randint(0, 3) for it in start)
            if end == start:
                end = (end[0] + 1, *end[1:])
            given.append(Allocation(str(i), draw.randint(1, 9), start, end))
        check(Allocator(effort=5, seed=1).allocate(given))


def test_their_own_classes():
    omnimalloc = pytest.importorskip("omnimalloc")
    from omnimalloc.benchmark.sources.sync_patterns import SyncPatternSource

    for seed in range(3):
        pool = omnimalloc.Pool.from_allocations(SyncPatternSource(num_allocations=40, seed=seed).get_allocations())
        placed = pool.allocate(Allocator(effort=50))
        omnimalloc.validate_allocation(placed)
        assert pool.pressure <= placed.size
        assert placed.size <= pool.allocate(omnimalloc.allocators.GreedyBySizeAllocator()).size
    line = omnimalloc.Pool.from_allocations(
        [omnimalloc.Allocation(i, 8 * (i % 3 + 1), i, i + 3) for i in range(20)])
    memory = omnimalloc.Memory(id="m", pools=(line.allocate(Allocator()),)).allocate(Allocator())
    omnimalloc.validate_allocation(memory)
