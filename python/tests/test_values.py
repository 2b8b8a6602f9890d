"""Plans and offsets as values: copies, pickles, comparisons, pictures; and the tables that pack takes."""

import collections
import copy
import json
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pytest

import stowage

BUFFERS = [(0, 2, 64), (1, 3, 32), (2, 4, 64)]


@pytest.fixture
def offsets():
    return stowage.pack(*zip(*BUFFERS))


def test_parts_and_results_of_offsets_say_nothing_of_the_whole(offsets):
    for other in (offsets[:2], offsets[[0, 1]], offsets + 4096, 4096 + offsets, np.sort(offsets), offsets.copy(),
                  np.concatenate([offsets, offsets]), np.maximum(offsets, 8), np.where(offsets > 0, offsets, 1)):
        assert type(other) is np.ndarray
        assert not hasattr(other, "peak")
    assert isinstance(offsets[0], np.integer) and isinstance(offsets.sum(), np.integer)
    with pytest.raises(AttributeError, match="has no peak"):
        _ = offsets.reshape(3, 1).peak
    with pytest.raises(AttributeError, match="peek"):
        _ = offsets.peek


def test_offsets_cannot_be_changed_but_their_copy_can(offsets):
    with pytest.raises(ValueError):
        offsets[0] = 12345
    with pytest.raises(ValueError):
        offsets += 1
    with pytest.raises(ValueError):
        offsets.memory[0] = 1
    moved = offsets.copy()
    moved += 4096
    assert moved[0] == offsets[0] + 4096 and offsets.peak == 96


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_offsets_keep_what_is_known_in_copies_and_pickles(offsets, again):
    other = again(offsets)
    assert np.array_equal(other, offsets) and type(other) is stowage.Offsets
    assert (other.peak, other.bound, other.proven, other.strategy) == (96, 96, True, offsets.strategy)
    assert other.peaks == offsets.peaks and np.array_equal(other.memory, offsets.memory)


def tables():
    import pandas
    rows = [dict(zip(("lower", "upper", "size"), it)) for it in BUFFERS]
    buffer = collections.namedtuple("Buffer", "lower upper size")
    yield "tuples", BUFFERS
    yield "named tuples", [buffer(*it) for it in BUFFERS]
    yield "tuples with alignment", [(*it, 16) for it in BUFFERS]
    yield "dicts", rows
    yield "dicts with start and end", [{"start": a, "end": b, "size": c} for a, b, c in BUFFERS]
    yield "a dict of columns", dict(zip(("lower", "upper", "size"), zip(*BUFFERS)))
    yield "a DataFrame", pandas.DataFrame(rows)
    yield "a structured array", np.array(BUFFERS, dtype=[("lower", "i8"), ("upper", "i8"), ("size", "i8")])


def test_pack_takes_tables():
    pytest.importorskip("pandas")
    for what, table in tables():
        assert stowage.pack(table).peak == 96, what


def test_tables_may_align_and_pin():
    rows = [{"lower": 0, "upper": 2, "size": 10, "alignment": 64, "offset": 128},
            {"lower": 0, "upper": 2, "size": 10, "alignment": 64}]
    offsets = stowage.pack(rows)
    assert offsets[0] == 128 and offsets[1] % 64 == 0
    pandas = pytest.importorskip("pandas")
    assert stowage.pack(pandas.DataFrame(rows).drop(columns="alignment"))[0] == 128


def test_the_table_of_a_plan_is_a_table(classifier):
    plan = stowage.plan(classifier, order="keep")
    assert stowage.pack(plan.buffers[["lower", "upper", "size", "alignment"]]).peak <= plan.peak


@pytest.mark.parametrize("table, words", [
    ([(0, 1)], "expected .lower, upper, size"),
    ([(0, 1, 2), (0, 1, 2, 3)], "expected .lower, upper, size"),
    ({"lower": [0], "size": [1]}, "no column upper"),
    ([{"lower": 0, "upper": 1, "size": 1}, {"lower": 0, "upper": 1}], "no 'size'"),
])
def test_tables_that_are_refused(table, words):
    with pytest.raises(stowage.UsageError, match=words):
        stowage.pack(table)


def test_align_and_alignment_are_one_option(classifier):
    assert list(stowage.pack(*zip(*BUFFERS), align=128)) == list(stowage.pack(*zip(*BUFFERS), alignment=128))
    assert stowage.plan(classifier, alignment=256).peak == stowage.plan(classifier, align=256).peak
    with pytest.raises(stowage.UsageError, match="one option"):
        stowage.pack([(0, 1, 2)], align=1, alignment=1)
    with pytest.raises(stowage.UsageError, match="one option"):
        stowage.plan(classifier, align=1, alignment=1)


def test_unknown_options_have_a_suggestion(classifier):
    with pytest.raises(TypeError, match="did you mean 'capacity'"):
        stowage.plan(classifier, capcity="64KiB")


def test_plans_are_values(classifier):
    plan = stowage.plan(classifier, capacity="64KiB", effort=100)
    again = stowage.plan(classifier, capacity="64KiB", effort=100)
    other = stowage.plan(classifier, order="keep", alias="none", effort=100)
    assert plan == again and hash(plan) == hash(again) and plan != other and plan != "plan"
    for same in (copy.copy(plan), copy.deepcopy(plan), pickle.loads(pickle.dumps(plan))):
        assert same == plan and same.enough == plan.enough and same.fits == plan.fits is False
        assert same.verify() == plan.verify()
    assert not plan.difference(again)["buffers"]
    numbers = {it["name"]: it for it in plan.difference(other)["numbers"]}
    assert numbers["peak"]["before"] == plan.peak and numbers["peak"]["after"] == other.peak


def test_a_pickle_outlives_its_model(classifier, tmp_path):
    model = tmp_path / "model.onnx"
    model.write_bytes(open(classifier, "rb").read())
    text = pickle.dumps(stowage.plan(model))
    model.unlink()
    assert pickle.loads(text).peak == 737280


def test_errors_survive_pickles():
    with pytest.raises(stowage.Error) as caught:
        stowage.plan("missing.onnx")
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and again.file == "missing.onnx"


def test_plot_draws_each_buffer(classifier):
    pytest.importorskip("matplotlib").use("Agg")
    plan = stowage.plan(classifier)
    axes = plan.plot()
    assert len(axes.patches) == len(plan.buffers)
    assert axes.get_ylim() == (0, plan.peak)
    assert plan.plot(ax=axes, names=False) is axes
    two = stowage.plan(classifier, memory={"SRAM": "256KiB", "DRAM": None})
    assert two.plot().get_ylim()[1] == sum(it["peak"] for it in two.memories)


def test_plot_says_what_it_needs(classifier, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.patches", None)
    with pytest.raises(stowage.UsageError, match="pip install matplotlib"):
        stowage.plan(classifier).plot()


def test_remedies_say_what_may_help(classifier, tmp_path):
    plan = stowage.plan(classifier, capacity="64KiB", effort=100)
    rows = next(it for it in plan.remedies() if "Rows" in it["what"])
    assert rows["verdict"] == "found" and rows["command"].endswith("--stream") and not rows["fits"]
    possible = next(it for it in stowage.plan(classifier).remedies() if "Rows" in it["what"])
    assert possible["verdict"] == "possible" and possible["command"] == f"stowage plan {classifier} --stream"
    listed = tmp_path / "list.csv"
    listed.write_text("id,lower,upper,size\na,0,9,64\nb,1,3,32\n")
    first = stowage.plan(listed, capacity=80).remedies()[0]
    assert first["what"].startswith("Keep elsewhere") and "'b'" in first["what"] and first["bytes"] == 16


def test_remedies_are_those_of_the_command(classifier):
    options = ["--capacity", "300KiB", "--effort", "100"]
    ran = subprocess.run([sys.executable, "-m", "stowage", "plan", classifier, *options, "--json"],
                         capture_output=True, text=True)
    printed = json.loads(ran.stdout)["remedies"]
    keys = ("verdict", "what", "bytes")
    for given in (classifier, pathlib.Path(classifier).read_bytes()):
        found = stowage.plan(given, capacity="300KiB", effort=100).remedies()
        assert [[it[key] for key in keys] for it in found] == [[it[key] for key in keys] for it in printed]
        assert next(it for it in found if "also of inputs" in it["what"])["fits"]
    two = stowage.plan({"a": classifier, "b": classifier}, run="a ; b", capacity="300KiB", effort=20).remedies()
    assert all(f"plan a={classifier} b={classifier} --run 'a ; b'" in it["command"] for it in two if it["command"])
    weights = stowage.plan(classifier, memory={"FLASH": "1KiB:weights", "SRAM": None}, effort=20)
    assert not weights.fits and not any(it["fits"] for it in weights.remedies())


def test_messages_name_arguments_as_python_has_them(tmp_path):
    message = "give them with --dim batch=N --dim 'x[0]'=N (exactly N) or --dim batch=..N --dim 'x[0]'=..N"
    expected = "give them with dim={'batch': N, 'x[0]': N} (exactly N) or dim={'batch': '..N', 'x[0]': '..N'}"
    assert str(stowage.Error(message)) == expected
    assert str(stowage.Error("give that with --value sr=NUMBER")) == "give that with value={'sr': NUMBER}"
    assert str(stowage.Error("a longer --time-limit, or --force")) == "a longer time_limit, or force"
    assert str(stowage.Error("yourself: --extern A --extern B")) == "yourself: extern=['A', 'B']"
    for command in ("`stowage tflm --help` has the list", "`--layout ring`", "so: stowage generate --extern LSTM"):
        assert str(stowage.Error(command)) == command
    assert str(stowage.Error("it has no --html")) == "it has no --html"
    with pytest.raises(TypeError, match="did you mean 'capacity'"):
        stowage.plan(tmp_path / "m.onnx", budget="64KiB")


def test_pack_takes_names_in_tuples_and_other_columns():
    assert stowage.pack([("a", 0, 2, 32), ("b", 1, 3, 64)]).peak == 96
    assert stowage.pack([{"start": 0, "end": 2, "bytes": 32}, {"start": 1, "end": 3, "bytes": 64}]).peak == 96
