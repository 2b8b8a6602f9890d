"""Sizes that models leave open: plans for several, the largest that fits, and values of inputs that decide sizes."""

import json
import pickle

import numpy as np
import pytest

import stowage


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


def field(number, value):
    """A field of a protobuf message: a number, a text or another message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(content)) + content


def value_info(name, element, *dims):
    shape = b"".join(field(1, field(2 if isinstance(it, str) else 1, it)) for it in dims)
    return field(1, name) + field(2, field(1, field(1, element) + field(2, shape)))


def node(kind, inputs, output):
    return b"".join(field(1, it) for it in inputs) + field(2, output) + field(3, output) + field(4, kind)


def model(nodes, inputs, outputs, initializers=()):
    graph = b"".join(field(1, it) for it in nodes) + field(2, "main")
    graph += b"".join(field(5, it) for it in initializers)
    graph += b"".join(field(11, it) for it in inputs) + b"".join(field(12, it) for it in outputs)
    return field(1, 8) + field(7, graph) + field(8, field(2, 17))


FLOAT, INT64 = 1, 7


@pytest.fixture
def encoder():
    """x * w for a batch of sequences, and a state of 64 floats."""
    weights = field(1, 16) + field(1, 16) + field(2, FLOAT) + field(8, "w") + field(9, bytes(4 * 16 * 16))
    return model([node("MatMul", ["x", "w"], "y"), node("Tanh", ["old"], "new")],
                 [value_info("x", FLOAT, "batch", "seq", 16), value_info("old", FLOAT, 64)],
                 [value_info("y", FLOAT, "batch", "seq", 16), value_info("new", FLOAT, 64)], [weights])


def test_offsets_are_functions_of_sizes(encoder, tmp_path):
    stateless = {"dim": {"batch": "1..4", "seq": (1, 64)}}
    found = stowage.plan_functions(encoder, **stateless)
    assert found.ranges == {"batch": (1, 4, 1), "seq": (1, 64, 1)}
    assert found.at(batch=4, seq=64).peak == found.peak
    for batch, seq in [(1, 1), (2, 7), (3, 64)]:
        there = found.at(batch=batch, seq=seq)
        exact = stowage.plan(encoder, dim={"batch": batch, "seq": seq})
        assert exact.bound <= there.peak <= exact.peak
        assert len(there.offsets) == len(there.sizes) == len(found.ids)
        assert max(there.offsets + there.sizes) == there.peak
    with pytest.raises(stowage.UsageError, match="expected batch, seq"):
        found.at(seq=1)
    with pytest.raises(stowage.UsageError, match="65"):
        found.at(batch=1, seq=65)
    found.to_json(tmp_path / "plan.json")
    assert stowage.load(tmp_path / "plan.json", encoder, **stateless).verify() == []
    assert "batch=1..4" in repr(found)


def test_several_sizes_are_plans_of_one_memory(encoder, tmp_path):
    options = {"dim": {"batch": 1, "seq": [512, 128]}, "state": {"new": "old"}}
    buckets = stowage.plan_buckets(encoder, **options)
    assert [sizes for sizes, _ in buckets.plans] == [{"seq": 128}, {"seq": 512}]
    assert buckets.at(seq=300).peak == buckets.peak > buckets.at(seq=128).peak == buckets.at(seq=1).peak
    with pytest.raises(stowage.UsageError, match="seq=513 is beyond the largest bucket, seq=512"):
        buckets.at(seq=513)
    with pytest.raises(stowage.UsageError, match="expected seq"):
        buckets.at(n=5)
    assert [it["size"] for it in buckets.shared] == [256]
    offsets = {int(row["offset"]) for _, plan in buckets.plans for row in plan.tensors if row["name"] == "old"}
    assert offsets == {buckets.shared[0]["offset"]}
    assert buckets.verify() == [] and buckets.fits and "2 plans" in repr(buckets)
    outputs = buckets.at(seq=100).run({"x": np.ones((1, 128, 16), np.float32)}, check="all")
    assert outputs["y"].shape == (1, 128, 16)
    buckets.to_json(tmp_path / "plan.json")
    again = stowage.load_buckets(tmp_path / "plan.json", encoder, **options)
    assert again.at(seq=300) == buckets.at(seq=300) and again.verify() == []


def test_the_largest_size_that_fits(encoder):
    (row,) = stowage.fit(encoder, "seq", capacity="64KiB", dim={"batch": 1})
    assert row["seq"] == 510 and row["next"] == 511 and "does not fit" in row["why"]
    rows = stowage.fit(encoder, ["batch", "seq"], capacity="64KiB", dim={"batch": [1, 2]})
    assert [(it["batch"], it["seq"]) for it in rows] == [(1, 510), (2, 255)]
    pool = field(4, "MaxPool") + field(1, "x") + field(2, "y")
    pool += field(5, field(1, "kernel_shape") + field(20, 7) + b"\x40\x05")
    window = model([pool], [value_info("x", FLOAT, 1, 1, "w")], [value_info("y", FLOAT, 1, 1, "v")])
    (row,) = stowage.fit(window, "w", capacity=400)
    assert row["least"] == 5 and row["w"] == 48
    (row,) = stowage.fit(encoder, "seq", capacity=64, dim={"batch": 1})
    assert row["seq"] is None and row["next"] == 1 and "1 does not fit" in row["why"]
    with pytest.raises(stowage.UsageError, match="fit needs a limit"):
        stowage.fit(encoder, "seq", dim={"batch": 1})


def test_a_search_for_a_size_tells_its_progress_and_can_be_stopped(encoder):
    options = {"capacity": "64KiB", "dim": {"batch": 1}, "stream": True}
    seen = []
    stowage.fit(encoder, "seq", time_limit=2, progress=lambda what, fraction: seen.append((fraction, what)), **options)
    fractions = [fraction for fraction, _ in seen]
    assert fractions == sorted(fractions) and len({what for _, what in seen}) > 1
    (row,) = stowage.fit(encoder, "seq", time_limit=600, progress=lambda what, fraction: False, **options)
    assert row["interrupted"]


def test_plans_of_ranges_are_checked_and_run_at_sizes(encoder, tmp_path):
    whole, within = {"batch": 1, "seq": "4..64"}, {"batch": 1, "seq": 32}
    for plan in (stowage.plan(encoder, dim=whole), stowage.plan_functions(encoder, dim=whole)):
        plan.to_json(tmp_path / "plan.json")
        for given in (plan, tmp_path / "plan.json", plan.to_json().encode()):
            assert stowage.verify(given, encoder, dim=within) == []
            assert stowage.verify(given, encoder, dim=whole) == []
        assert stowage.load(tmp_path / "plan.json", encoder, dim=within).verify() == []
        outputs = stowage.run(encoder, plan=plan, dim=within, check="all")
        assert outputs["y"].shape == (1, 32, 16)
        with pytest.raises(stowage.UsageError, match="differs from the plan"):
            stowage.verify(plan, encoder, dim={"batch": 1, "seq": 65})
    broken = json.loads(plan.to_json())
    broken["functions"]["relations"] = [[[] for _ in it] for it in broken["functions"]["relations"]]
    assert stowage.verify(json.dumps(broken).encode(), encoder, dim=within)


def test_files_say_what_reads_them(encoder, tmp_path):
    options = {"dim": {"batch": 1, "seq": "1..64"}}
    functions = stowage.plan_functions(encoder, **options)
    functions.to_json(tmp_path / "functions.json")
    again = stowage.load(tmp_path / "functions.json", encoder)
    for same in (again, pickle.loads(pickle.dumps(again)), pickle.loads(pickle.dumps(functions))):
        assert same == functions and same.at(seq=9).peak == functions.at(seq=9).peak
    stowage.plan_buckets(encoder, dim={"batch": 1, "seq": [8, 64]}).to_json(tmp_path / "buckets.json")
    assert stowage.verify(tmp_path / "buckets.json") == []
    assert stowage.verify(tmp_path / "buckets.json", encoder, dim={"batch": 1}) == []
    document = json.loads((tmp_path / "buckets.json").read_text())
    document["buckets"][1]["plan"]["buffers"][0]["offset"] += 1
    assert stowage.verify(json.dumps(document).encode()) != []
    with pytest.raises(stowage.Error, match="buckets.json: .*load_buckets"):
        stowage.load(tmp_path / "buckets.json")
    for other in (tmp_path / "functions.json", b"{}", b"no json", tmp_path / "missing.json"):
        with pytest.raises(stowage.Error):
            stowage.load_buckets(other)


def test_a_size_of_nothing_is_one(encoder):
    plan = stowage.plan(encoder, dim={"batch": 1, "seq": 0})
    assert plan.verify() == []
    assert plan.run(check="all")["y"].shape == (1, 0, 16)


def reshape_to_sizes():
    return model([node("Reshape", ["x", "sizes"], "y")],
                 [value_info("x", FLOAT, 24), value_info("sizes", INT64, 2)], [value_info("y", FLOAT, "a", "b")])


def test_a_plan_that_is_read_knows_its_sizes_and_values(encoder, tmp_path):
    reshape = reshape_to_sizes()
    for net, options, shape in [(encoder, {"dim": {"batch": 2, "seq": "..8"}}, (2, 8, 16)),
                                (reshape, {"value": {"sizes": [4, 6]}}, (4, 6))]:
        file = tmp_path / "plan.json"
        made = stowage.plan(net, **options)
        made.to_json(file)
        plan = stowage.load(file, net)
        assert plan.run(check="all")["y"].shape == shape
        assert plan == made and plan.verify() == [] and stowage.verify(file, net) == []
    with pytest.raises(stowage.UsageError, match="dim=.*differs from the plan"):
        stowage.load(stowage.plan(encoder, dim={"batch": 1, "seq": 8}).to_json().encode(), encoder, dim={"seq": 9})


def test_values_of_inputs_decide_sizes():
    reshape = reshape_to_sizes()
    for sizes in ([4, 6], (4, 6), np.array([4, 6])):
        plan = stowage.plan(reshape, value={"sizes": sizes})
        assert plan.run(check="all")["y"].shape == (4, 6)
    with pytest.raises(stowage.UsageError, match="other elements than 4,6"):
        plan.run({"sizes": np.array([6, 4])})
    with pytest.raises(stowage.UsageError, match="did you mean 'sizes'"):
        stowage.plan(reshape, value={"size": [4, 6]})
    with pytest.raises(stowage.Error, match=r"value={'sizes': \[NUMBER, ...\]}"):
        stowage.plan(reshape)
