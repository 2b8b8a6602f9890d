"""pack against brute force and against its own claims."""

import itertools
import random
import types

import numpy as np
import pytest

import stowage


def expect_valid(lower, upper, size, offsets, alignment=1, memory=None):
    memory = [0] * len(size) if memory is None else memory
    for a, b in itertools.combinations(range(len(size)), 2):
        if memory[a] != memory[b] or max(lower[a], lower[b]) >= min(upper[a], upper[b]):
            continue
        assert offsets[a] + size[a] <= offsets[b] or offsets[b] + size[b] <= offsets[a], (a, b)
    assert all(int(offset) % alignment == 0 and offset >= 0 for offset in offsets)


def load(lower, upper, size):
    return max(sum(s for low, up, s in zip(lower, upper, size) if low <= t < up) for t in range(max(upper)))


def random_buffers(seed, count):
    rng = random.Random(seed)
    lower = [rng.randrange(12) for _ in range(count)]
    upper = [low + rng.randrange(1, 6) for low in lower]
    return lower, upper, [rng.randrange(1, 40) for _ in range(count)]


def least_peak(lower, upper, size):
    """Tries all orders of first fit, one of which is optimal."""
    best = sum(size)
    for order in itertools.permutations(range(len(size))):
        offsets = {}
        peak = 0
        for b in order:
            taken = sorted((offsets[a], offsets[a] + size[a]) for a in offsets
                           if max(lower[a], lower[b]) < min(upper[a], upper[b]))
            at = 0
            for begin, end in taken:
                if at + size[b] <= begin:
                    break
                at = max(at, end)
            offsets[b] = at
            peak = max(peak, at + size[b])
        best = min(best, peak)
    return best


@pytest.mark.parametrize("seed", range(20))
def test_peak_is_the_least_of_all(seed):
    lower, upper, size = random_buffers(seed, 6)
    offsets = stowage.pack(lower, upper, size)
    expect_valid(lower, upper, size, offsets)
    assert offsets.peak == max(o + s for o, s in zip(offsets, size)) == least_peak(lower, upper, size)
    assert offsets.proven


@pytest.mark.parametrize("alignment", [1, 16, 64])
def test_many_buffers(alignment):
    lower, upper, size = random_buffers(3, 300)
    offsets = stowage.pack(np.array(lower), np.array(upper), np.array(size), alignment=alignment, time_limit=0.2)
    expect_valid(lower, upper, size, offsets, alignment)
    assert load(lower, upper, size) <= offsets.bound <= offsets.peak


def test_types_of_arrays_do_not_matter():
    lower, upper, size = random_buffers(5, 40)
    wanted = stowage.pack(lower, upper, size)
    for dtype in ("int8", "uint8", "int32", "uint64"):
        columns = [np.array(column, dtype=dtype) for column in (lower, upper, size)]
        assert (stowage.pack(*columns) == wanted).all()
    spread = [np.repeat(np.array(column), 2)[::2] for column in (lower, upper, size)]  # not contiguous
    assert (stowage.pack(*spread) == wanted).all()


def test_pins_and_capacity():
    offsets = stowage.pack([0, 0, 0], [2, 2, 2], [8, 8, 8], pinned=[-1, 16, -1], capacity=24)
    assert offsets[1] == 16 and sorted(offsets) == [0, 8, 16] and offsets.fits
    assert not stowage.pack([0, 0], [1, 1], [8, 8], capacity="8").fits


def test_empty_and_sizes_of_zero():
    assert len(stowage.pack([], [], [])) == 0
    assert stowage.pack([], [], []).peak == 0
    assert stowage.pack([0, 0], [4, 4], [0, 16]).peak == 16


def test_allocations():
    class Allocation(types.SimpleNamespace):
        def with_offset(self, offset):
            return Allocation(**(vars(self) | {"offset": offset}))

    plain = [types.SimpleNamespace(id=i, size=8, start=i, end=i + 2, offset=None) for i in range(4)]
    assert stowage.pack(plain).peak == 16
    placed = stowage.pack([Allocation(**vars(it)) for it in plain])
    assert [it.id for it in placed] == [0, 1, 2, 3]
    expect_valid(range(4), range(2, 6), [8] * 4, [it.offset for it in placed])


class Allocation:
    """As in omnimalloc: immutable, and pinned if it has an offset."""

    def __init__(self, id, size, start, end, offset=None):
        self.id, self.size, self.start, self.end, self.offset = id, size, start, end, offset

    def with_offset(self, offset):
        return Allocation(self.id, self.size, self.start, self.end, offset)


def test_offsets_of_allocations_are_pins():
    free = [Allocation(0, 64, 0, 2), Allocation(1, 32, 1, 3), Allocation(2, 16, 2, 4)]
    pinned = [free[0].with_offset(128), *free[1:]]
    placed = stowage.pack(pinned)
    assert [it.id for it in placed] == [0, 1, 2] and placed[0].offset == 128
    expect_valid([0, 1, 2], [2, 3, 4], [64, 32, 16], [it.offset for it in placed])
    assert [it.offset for it in stowage.pack(placed)] == [it.offset for it in placed]
    assert stowage.pack([types.SimpleNamespace(size=8, start=0, end=1, offset=np.int64(24))]).peak == 32
    with pytest.raises(stowage.Error, match="pinned"):
        stowage.pack([free[0].with_offset(0), free[1].with_offset(32)])  # both hold byte 32 at time 1
    for offset in (-1, 1.5, "8"):
        with pytest.raises(stowage.UsageError, match="offset"):
            stowage.pack([free[0].with_offset(offset)])
    for options in ({"pinned": [-1]}, {"memory": {"A": 8, "B": None}}, {"allowed": [0]}, {"traffic": [1]}):
        with pytest.raises(stowage.UsageError, match="not for a list of allocations"):
            stowage.pack(free[:1], **options)


def test_several_memories():
    offsets = stowage.pack([0, 0, 0], [4, 4, 4], [100, 100, 100], memory={"fast": 200, "slow": None},
                           allowed=[-1, 1, -1], traffic=[500, 900, 500])
    assert list(offsets.memory) == [0, 1, 0] and offsets.peaks == [200, 100] and offsets.peak == 300
    expect_valid([0] * 3, [4] * 3, [100] * 3, offsets, memory=list(offsets.memory))


@pytest.mark.parametrize("arguments, words", [
    ((([0], [1, 2], [1])), "upper has 2 elements, expected 1"),
    ((([0], [1], [1.5])), "size has elements of type float64, expected integers"),
    ((([[0]], [1], [1])), "lower has 2 dimensions, expected 1"),
])
def test_wrong_arrays(arguments, words):
    with pytest.raises(stowage.UsageError, match=words):
        stowage.pack(*arguments)


def test_wrong_numbers():
    with pytest.raises(stowage.Error, match="'1'"):
        stowage.pack([0, 0], [1, 1], [1, -1])
    with pytest.raises(stowage.Error):
        stowage.pack([0], [2**62], [1])
    with pytest.raises(stowage.UsageError, match="unknown strategy"):
        stowage.pack([0], [1], [1], strategy="best")
    with pytest.raises(stowage.UsageError, match="alignment has 2 elements, expected 1 or 3"):
        stowage.pack([0] * 3, [1] * 3, [1] * 3, alignment=[1, 2])
    with pytest.raises(stowage.UsageError, match="allocation"):
        stowage.pack([object()])
