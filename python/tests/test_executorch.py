"""The planner for ExecuTorch, on specs that only have the fields it uses."""

import itertools
import random
from types import SimpleNamespace

import pytest

import stowage
from stowage.executorch import Bank, Planner


class Spec:
    """What the planner sees of a TensorSpec."""

    def __init__(self, nbytes, first, last, mem_id=None, base=None, base_offset=0):
        self.nbytes, self.lifetime, self.mem_id = nbytes, [first, last], mem_id
        self.storage_base, self.storage_base_offset = base, base_offset
        self.alignment = 1
        self.shape = (nbytes,)

    def realign(self, alignment):
        self.alignment = alignment
        return self.allocated_memory

    @property
    def allocated_memory(self):
        return -(-self.nbytes // self.alignment) * self.alignment


def chain_of(spec):
    chain = {id(spec)}
    while spec.storage_base is not None:
        spec = spec.storage_base
        chain.add(id(spec))
    return chain


def expect_valid(result, specs, alignment):
    """What ExecuTorch's own verifier demands."""
    assert set(map(id, result.spec_dict)) == set(map(id, specs))
    for spec, place in result.spec_dict.items():
        assert place.mem_offset >= 0 and place.mem_id >= 1
        assert place.mem_offset % alignment == 0 or spec.storage_base is not None
        assert place.mem_offset + spec.allocated_memory <= result.bufsizes[place.mem_id]
        assert spec.mem_id in (None, place.mem_id)
    for (a, at), (b, bt) in itertools.combinations(result.spec_dict.items(), 2):
        first, second = (at.mem_offset, at.mem_offset + a.allocated_memory), (bt.mem_offset, bt.mem_offset + b.allocated_memory)
        if at.mem_id != bt.mem_id or first[0] >= second[1] or second[0] >= first[1] or not (a.nbytes and b.nbytes):
            continue
        assert at.mem_obj_id == bt.mem_obj_id
        lives = a.lifetime[0] <= b.lifetime[1] and b.lifetime[0] <= a.lifetime[1]
        assert not lives or id(a) in chain_of(b) or id(b) in chain_of(a)


def plan(specs, alignment=16, planner=None, module=None, padding=0):
    planner = planner or Planner()
    result = planner(alignment, set(specs), module or SimpleNamespace(), None, padding)
    expect_valid(result, specs, alignment)
    return result, planner


def load(specs, alignment=16):
    for spec in specs:
        spec.realign(alignment)
    last = max(spec.lifetime[1] for spec in specs)
    return max(sum(it.allocated_memory for it in specs if it.lifetime[0] <= t <= it.lifetime[1]) for t in range(last + 1))


def test_lifetimes_are_inclusive():
    meet = [Spec(16, 0, 1), Spec(16, 1, 2)]
    assert plan(meet)[0].bufsizes == [0, 32]
    apart = [Spec(16, 0, 0), Spec(16, 1, 2)]
    assert plan(apart)[0].bufsizes == [0, 16]


@pytest.mark.parametrize("seed", range(30))
def test_random_specs(seed):
    rng = random.Random(seed)
    specs = []
    for _ in range(rng.randrange(1, 40)):
        first = rng.randrange(20)
        specs.append(Spec(rng.choice([0, 1, 16, 100, 1000, 4096]), first, first + rng.randrange(6)))
    for _ in range(rng.randrange(4)):
        base = rng.choice(specs)
        if base.nbytes:
            offset = rng.randrange(base.nbytes)
            first = rng.randrange(25)
            specs.append(Spec(rng.randrange(base.nbytes - offset + 1), first, first + 2, None, base, offset))
    result, planner = plan(specs, rng.choice([1, 16, 64]))
    roots = [spec for spec in specs if spec.storage_base is None]
    if len(roots) == len(specs) and any(spec.nbytes for spec in specs):
        assert planner.reports[0].bound >= load(specs, specs[0].alignment)
        assert planner.reports[0].bytes == result.bufsizes[1]


def test_the_order_of_the_set_does_not_matter():
    def offsets(order):
        specs = [Spec(100 * k + 1, k, k + 3) for k in range(20)]
        places = Planner()(16, [specs[k] for k in order], SimpleNamespace()).spec_dict
        return [places[spec].mem_offset for spec in specs]

    shuffled = list(range(20))
    random.Random(1).shuffle(shuffled)
    assert offsets(range(20)) == offsets(shuffled)


def test_better_than_largest_first():
    sizes = [(36, 0, 3), (24, 2, 5), (24, 4, 9), (12, 6, 7), (36, 8, 11)]
    specs = [Spec(16 * size, first, last) for size, first, last in sizes]
    result, planner = plan(specs)
    assert result.bufsizes[1] == planner.reports[0].bound == load(specs)
    assert planner.reports[0].proven


def test_pins_padding_and_reserved_bytes():
    specs = [Spec(64, 0, 4), Spec(64, 0, 4, mem_id=3), Spec(64, 0, 4, mem_id=1)]
    module = SimpleNamespace(input_mem_buffer_sizes=[0, 50])
    result, _ = plan(specs, module=module, padding=8)
    assert result.bufsizes == [0, 64 + 128 + 8, 0, 64 + 8]
    assert min(it.mem_offset for it in result.spec_dict.values() if it.mem_id == 1) == 64


def test_tensors_inside_others():
    base = Spec(64, 0, 2)
    inside = Spec(16, 3, 6, base=base, base_offset=32)
    deeper = Spec(8, 7, 8, base=inside, base_offset=8)
    other = Spec(64, 8, 9)
    result, _ = plan([base, inside, deeper, other])
    places = result.spec_dict
    assert places[deeper].mem_offset == places[inside].mem_offset + 8 == places[base].mem_offset + 40
    assert result.bufsizes == [0, 128]  # the base lives as long as what is inside
    with pytest.raises(stowage.Error, match="not planned"):
        plan([inside])


def test_banks():
    banks = [Bank("SRAM", 1, 2048), Bank("DRAM", 2)]
    specs = [Spec(1024, k, k + 1) for k in range(6)] + [Spec(8192, 2, 3), Spec(100, 0, 7, mem_id=2)]
    result, planner = plan(specs, planner=Planner(banks))
    assert result.bufsizes[1] <= 2048 and result.spec_dict[specs[6]].mem_id == 2
    assert all(result.spec_dict[spec].mem_id == 1 for spec in specs[:6])
    assert [report.bound for report in planner.reports] == [None, None]
    padded, _ = plan(specs, planner=Planner([Bank("SRAM", 1, 2048), Bank("DRAM", 2, 16384)]), padding=64)
    assert padded.bufsizes[1] <= 2048 and padded.bufsizes[2] <= 16384
    with pytest.raises(stowage.Error, match="do not fit"):
        Planner([Bank("SRAM", 1, 512)])(16, [Spec(1024, 0, 1)], SimpleNamespace())
    with pytest.raises(stowage.UsageError, match="different numbers"):
        Planner([Bank("A", 1), Bank("B", 1)])


def test_nothing_to_plan():
    result, planner = plan([])
    assert result.bufsizes == [0, 0] and planner.reports == []
    assert plan([Spec(0, 0, 3)])[0].bufsizes == [0, 0]


def test_all_methods_are_reported():
    body = SimpleNamespace()
    first = SimpleNamespace(modules=lambda: [first, body])
    second = SimpleNamespace(modules=lambda: [second])
    planner = Planner()
    for module, nbytes in ((body, 8), (first, 16), (second, 32)):
        plan([Spec(nbytes, 0, 1)], alignment=8, planner=planner, module=module)
    assert [(it.method, it.mem_id, it.bytes) for it in planner.reports] == [(0, 1, 16), (1, 1, 32)]
    planner.clear()
    assert planner.reports == []
