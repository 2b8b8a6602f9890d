"""Plans of models: what they say, how they are saved, and what is refused."""

import ast
import html
import importlib.metadata
import json
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest

import stowage
from stowage import _options


def expect_no_overlap(buffers):
    for i, a in enumerate(buffers):
        for b in buffers[i + 1:]:
            lives = a["memory"] == b["memory"] and max(a["lower"], b["lower"]) < min(a["upper"], b["upper"])
            shares = a["offset"] < b["offset"] + b["size"] and b["offset"] < a["offset"] + a["size"]
            assert not (lives and shares), (a, b)


def test_facts_agree(classifier):
    plan = stowage.plan(classifier)
    document = json.loads(plan.to_json())
    assert plan.peak == document["summary"]["peak"] == 737280 == plan.bound
    assert plan.proven and plan.fits and plan.enough is None and not plan.interrupted
    assert plan.naive == 3281536
    assert plan.summary["strategy"] == document["summary"]["strategy"]
    assert [it["name"] for it in plan.memories] == ["arena"]
    assert plan.claims[0][0] == "offsets"
    assert max(plan.buffers["offset"] + plan.buffers["size"]) == plan.peak
    assert [it["id"] for it in document["buffers"]] == list(plan.buffers["id"])
    assert len(plan.tensors) == len(document["tensors"]) == 38
    assert len(plan.steps) == len(document["clocks"][0]["steps"])
    assert plan.steps["name"][0] == "stem.conv" and plan.steps["type"][0] == "Conv"
    expect_no_overlap(plan.buffers)
    assert plan.verify() == []
    assert "737280" in repr(plan) and "peak" in str(plan)


def test_offsets_of_tensors_are_in_their_buffers(classifier):
    plan = stowage.plan(classifier)
    placed = plan.tensors[plan.tensors["buffer"] >= 0]
    assert len(placed) == 22
    owners = plan.buffers[placed["buffer"]]
    assert (placed["offset"] >= owners["offset"]).all()
    assert (placed["offset"] + placed["bytes"] <= owners["offset"] + owners["size"]).all()


def test_bytes_and_onnx_objects(classifier):
    content = classifier.read_bytes()
    wanted = stowage.plan(classifier)
    for model in (content, bytearray(content)):
        assert (stowage.plan(model).buffers == wanted.buffers).all()
    onnx = pytest.importorskip("onnx")
    assert (stowage.plan(onnx.load(classifier)).buffers == wanted.buffers).all()


def test_runs_bytes_whose_owner_is_gone(classifier):
    plan = stowage.plan(bytes(bytearray(classifier.read_bytes())), stream=True)
    assert plan.run(check="all", random_weights=1).keys() == {"probabilities"}


def test_streams(classifier):
    whole = stowage.plan(classifier)
    rows = stowage.plan(classifier, stream=True, io="rows")
    assert rows.peak < whole.peak
    assert (rows.steps["row_end"] >= 0).any() and rows.verify() == []
    named = stowage.plan(classifier, stream=["Conv", "Relu"], recompute=(1.0, 1.5), time_limit=1)
    assert named.verify() == []


def test_several_models(classifier):
    plan = stowage.plan([classifier, classifier])
    assert {it["source"] for it in json.loads(plan.to_json())["models"]} == {str(classifier)}
    outputs = plan.run(random_weights=1, check=True)
    assert outputs.keys() == {"classifier.probabilities", "classifier-2.probabilities"}
    named = stowage.plan({"a": classifier, "b": classifier.read_bytes()}, run="a | b")
    assert set(named.tensors["model"]) == {0, 1} and named.verify() == []
    with pytest.raises(stowage.UsageError, match="expected at least one"):
        stowage.plan([])


def test_memories(classifier):
    plan = stowage.plan(classifier, memory={"SRAM": "256KiB", "DRAM": None}, moves=True, time_limit=1)
    assert [it["name"] for it in plan.memories] == ["SRAM", "DRAM"] and plan.memories[0]["peak"] <= 262144
    tight = stowage.plan(classifier, capacity=1000)
    assert not tight.fits and tight.enough == ("arena", 737280)
    assert not stowage.load(tight.to_json().encode()).fits


def test_run_takes_and_gives_arrays(classifier):
    image = np.zeros((1, 3, 96, 96), np.float32)
    plan = stowage.plan(classifier)
    shape = plan.tensors[plan.tensors["name"] == "image"]["shape"][0]
    image = np.zeros(shape, np.float32)
    one = plan.run({"image": image}, random_weights=1)["probabilities"]
    assert one.dtype == np.float32 and one.shape == (1, 10) and abs(one.sum() - 1) < 1e-5
    two = stowage.run(classifier, {"image": image}, plan=plan, random_weights=1)["probabilities"]
    assert (one == two).all()
    assert not (one == plan.run({"image": image + 1}, random_weights=1)["probabilities"]).all()
    with pytest.raises(stowage.UsageError, match="nothing"):
        plan.run({"nothing": image})
    with pytest.raises(stowage.UsageError, match="image"):
        plan.run({"image": image[:, :1]})


def test_outputs_equal_those_of_onnx(classifier):
    onnx = pytest.importorskip("onnx")
    from onnx.reference import ReferenceEvaluator

    model = onnx.load(classifier)
    extents = [it.dim_value for it in model.graph.input[0].type.tensor_type.shape.dim]
    image = np.random.default_rng(0).random(extents, dtype=np.float32)
    wanted = ReferenceEvaluator(model).run(None, {"image": image})[0]
    np.testing.assert_allclose(stowage.run(model, {"image": image})["probabilities"], wanted, rtol=1e-4, atol=1e-6)


def test_saves(classifier, tmp_path):
    plan = stowage.plan(classifier)
    plan.to_json(tmp_path / "plan.json")
    again = stowage.load(tmp_path / "plan.json")
    assert again.to_json() == plan.to_json() and (again.buffers == plan.buffers).all()
    assert stowage.verify(tmp_path / "plan.json", classifier) == []
    with pytest.raises(stowage.UsageError, match="needs the model"):
        again.run()
    assert stowage.load(tmp_path / "plan.json", classifier).run(random_weights=1, check=True)
    assert plan.svg(tmp_path / "plan.svg").startswith("<svg")
    assert (tmp_path / "plan.svg").read_text() == plan.svg()
    plan.report(tmp_path / "plan.html")
    assert "stem.conv" in (tmp_path / "plan.html").read_text()
    page = plan.report()
    assert page.html == (tmp_path / "plan.html").read_text()
    _, _, rest = page._repr_html_().partition(' srcdoc="')
    assert html.unescape(rest.partition('"')[0]) == page.html and len(repr(page)) < 80
    assert plan.to_csv().startswith("id,")
    plan.save_header(tmp_path / "plan.h", prefix="net")
    subprocess.run([sys.executable, "-m", "stowage", "plan", classifier, "-o", tmp_path / "same.h", "--prefix",
                    "net"], check=True, capture_output=True)
    assert (tmp_path / "plan.h").read_text() == (tmp_path / "same.h").read_text()
    stowage.plan(classifier.read_bytes()).save_header(tmp_path / "bytes.h")
    assert "<svg" in plan._repr_html_() and "737280" in plan._repr_html_()


def test_tflite(tflite, tmp_path):
    plan = stowage.plan(tflite)
    made = plan.save_tflite(tmp_path / "planned.tflite")
    assert made.verify() == []
    found = stowage.inspect(tmp_path / "planned.tflite")
    assert found["faults"] == [] and stowage.inspect(tflite.read_bytes())["faults"] == []
    words = stowage.plan(tflite.read_bytes()).save_c(tmp_path / "c", name="net")
    assert "arena" in words and (tmp_path / "c").is_dir()
    assert "arena" in stowage.generate(tflite, tmp_path / "rows", stream=True, io="rows", time_limit=1)
    tensor = next(it for it in json.loads(plan.to_json())["tensors"] if it["kind"] == "input")
    zeros = {tensor["name"]: np.zeros(tensor["shape"], tensor["dtype"])}
    plan.save_c(tmp_path / "zeros", name="net", inputs=zeros)
    assert (tmp_path / "zeros/net_test.c").read_text() != (tmp_path / "c/net_test.c").read_text()
    with pytest.raises(stowage.UsageError, match=r"inputs\['nothing'\]: the network has no such input"):
        plan.save_c(tmp_path / "none", inputs={"nothing": np.zeros(1, np.float32)})


def test_tflite_is_written_without_other_searches(tflite, tmp_path):
    model = tflite.parent / "kws_ref_model.tflite"  # by rows, the search for it takes all the time there is
    if not model.exists():
        pytest.skip(f"no {model}")
    plan = stowage.plan(model, time_limit=60)
    assert plan.proven
    begin = time.monotonic()
    assert plan.save_tflite(tmp_path / "planned.tflite").proven
    assert time.monotonic() - begin < 20
    assert stowage.inspect(tmp_path / "planned.tflite")["faults"] == []


def test_a_single_model_saves_no_working_memory(classifier):
    memory = {"SRAM": "128KiB", "PSRAM": "@20", "FLASH": "@10:weights"}
    plan = stowage.plan(classifier, memory=memory, stream=True, moves=True, effort=300)
    working = json.loads(plan.to_json())["savings"]["working"]
    assert working == {"separate": plan.peak, "shared": plan.peak}
    table = str(plan).partition("separate")[2].partition("largest buffers")[0]
    assert "weights" in table and "working memory" not in table and "-" not in table
    two = stowage.plan([classifier, classifier], effort=300)
    assert "working memory" in str(two)


def test_verify_finds_a_fault(classifier):
    document = json.loads(stowage.plan(classifier).to_json())
    document["buffers"][1]["offset"] += 64
    faults = stowage.verify(json.dumps(document).encode(), classifier)
    assert faults and any("stem" in fault or "image" in fault or "left" in fault for fault in faults)


def test_rows_that_are_left_out_are_named(classifier):
    plan = stowage.plan(classifier, stream=True, io="rows", effort=0)
    assert plan.interrupted and not plan.proven
    what, why, help = plan.left_out[0]
    assert what == "rows" and "the effort ended" in why and "effort" in help and "--" not in help
    assert "cut short, without rows" in repr(plan) and "left out" in str(plan)
    whole = stowage.plan(classifier)
    assert whole.proven and whole.left_out == []
    rows = stowage.compare(classifier, stream=True, effort=0)
    assert rows["interrupted"].any() and "rows" in rows[0]["left_out"]


def test_compare_and_sweep(buffers, classifier):
    rows = stowage.compare(buffers, time_limit=0.5)
    assert {"auto", "exact", "rectangle"} <= set(rows["strategy"])
    assert rows[rows["strategy"] == "auto"]["peak"][0] == 216
    assert rows[rows["strategy"] == "levels"]["obstacle"][0]
    swept = stowage.sweep(classifier, memory={"SRAM": "128KiB..256KiB"}, time_limit=0.3, strategy=None)
    assert sorted(set(swept["size"])) == [131072, 185363, 262144] or len(set(swept["size"])) == 3
    assert (swept[swept["fits"]]["traffic"] >= swept[swept["fits"]]["unavoidable"]).all()
    assert all(swept[swept["strategy"] == it]["obstacle"].tolist().count("") for it in set(swept["strategy"]))
    options = {"memory": {"SRAM": "128KiB..256KiB"}, "effort": 5}
    assert (stowage.sweep(classifier, jobs=2, **options) == stowage.sweep(classifier, **options)).all()
    with pytest.raises(stowage.UsageError, match="jobs is 0"):
        stowage.sweep(classifier, jobs=0, **options)
    assert len(stowage.strategies()) >= 14


def test_memories_take_costs_and_roles_with_the_name_or_the_size(classifier):
    def memories(**given):
        plan = stowage.plan(classifier, memory={"SRAM": "300KiB"} | given)
        return plan.memories[1]["capacity"], plan.memories[1]["role"], plan.summary["cost"]

    assert memories(**{"PSRAM@20": "8MiB"}) == memories(PSRAM="8MiB@20") != memories(PSRAM="8MiB@30")
    assert memories(PSRAM="@20") == memories(**{"PSRAM@20": None}) == (None, *memories(PSRAM="8MiB@20")[1:])
    assert memories(FLASH=":weights")[:2] == memories(**{"FLASH:weights": None})[:2] == (None, "weights")
    assert memories(FLASH="4MiB:weights")[:2] == (4 << 20, "weights")
    for wrong in ({"PSRAM": "8MiX@20"}, {"PSRAM": "8MiB@x"}, {"PSRAM@3": "8MiB@20"}):
        with pytest.raises(stowage.UsageError, match="'PSRAM'"):
            memories(**wrong)


def test_tables_become_frames(classifier):
    pandas = pytest.importorskip("pandas")
    plan = stowage.plan(classifier)
    frame = pandas.DataFrame(plan.buffers)
    assert list(frame.columns[:5]) == ["id", "clock", "memory", "offset", "size"] and len(frame) == 11
    assert len(pandas.DataFrame(plan.tensors)) == 38 and len(pandas.DataFrame(plan.steps)) == 21


@pytest.mark.parametrize("options, words", [
    ({"align": 0}, "align is '0', expected a whole number of at least 1"),
    ({"time_limit": -1.0}, "time_limit is '-1"),
    ({"granule": 2}, "granule needs stream"),
    ({"capacity": "many"}, "capacity is 'many', expected a size"),
    ({"strategy": "best"}, "unknown strategy 'best'"),
    ({"feed": {"a.x": "b.y"}}, "a"),
    ({"join": {"a.x": "b.y"}}, "is no output of a model"),
    ({"order": ""}, "order is empty"),
])
def test_wrong_options(classifier, options, words):
    with pytest.raises(stowage.UsageError, match=words):
        stowage.plan(classifier, **options)


def test_options_are_those_of_the_table():
    tree = ast.parse(pathlib.Path(_options.__file__).read_text())
    typed = next(node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == "Options")
    names = sorted(it.target.id for it in typed.body if isinstance(it, ast.AnnAssign))
    assert names == sorted([*_options.NAMES, "alignment"])  # another name of align


def test_tuning_goes_to_its_strategy(classifier):
    tuned = stowage.plan(classifier, strategy="rectangle:sort=size*duration,-overlap,rounds=0")
    assert tuned.peak == stowage.plan(classifier, strategy="rectangle", sort="size*duration,-overlap", rounds=0).peak
    with pytest.raises(stowage.UsageError, match="KEY=VALUE"):
        stowage.compare(classifier, strategy="rectangle")


def test_unknown_options_and_models(classifier):
    with pytest.raises(TypeError, match="unknown option 'allign'"):
        stowage.plan(classifier, allign=3)
    with pytest.raises(stowage.UsageError, match="expected a path, bytes or an onnx.ModelProto"):
        stowage.plan(3)


def test_wrong_files(tmp_path):
    with pytest.raises(stowage.Error, match="cannot be read") as missing:
        stowage.plan(tmp_path / "missing.onnx")
    assert missing.value.file.endswith("missing.onnx") and missing.value.problem.startswith("cannot be read")
    (tmp_path / "list.csv").write_text("id,lower,upper,size\na,0,2,-4\n")
    with pytest.raises(stowage.Error) as wrong:
        stowage.plan(tmp_path / "list.csv")
    assert wrong.value.place == "line 2" and "-4" in wrong.value.problem
    assert isinstance(wrong.value, ValueError) and isinstance(wrong.value, stowage.StowageError)
    for content in (b"", b"\x08", b"\x00" * 100, b"{", b"TFL3", b"\x1c\x00\x00\x00TFL3" + b"\x00" * 40):
        with pytest.raises(stowage.StowageError):
            stowage.plan(content)
    with pytest.raises(stowage.Error, match="plan"):
        stowage.load(b"{}")
    with pytest.raises(stowage.Error, match="cannot be read"):
        stowage.load(tmp_path / "no.json")


def lives_that_take_long():
    rng = np.random.default_rng(0)
    lower = rng.integers(0, 300, 3000)
    return lower, lower + rng.integers(1, 40, 3000), rng.integers(1, 4000, 3000)


def test_progress_is_called_and_its_exceptions_end_the_search():
    columns = lives_that_take_long()
    seen = []
    stowage.pack(*columns, time_limit=1, progress=lambda what, fraction: seen.append((what, fraction)))
    assert seen and all(isinstance(what, str) and 0 <= fraction <= 1 for what, fraction in seen)
    assert any(", best " in what and ", bound " in what for what, _ in seen)

    def fail(what, fraction):
        raise KeyError("from the listener")

    with pytest.raises(KeyError, match="from the listener"):
        stowage.pack(*columns, time_limit=60, progress=fail)


@pytest.mark.parametrize("call, end", [
    (lambda model, progress: stowage.pack(*lives_that_take_long(), time_limit=2, progress=progress), 0.8),
    (lambda model, progress: stowage.plan(model, stream=True, memory={"SRAM": "64KiB", "DRAM": None}, moves=True,
                                          time_limit=2, progress=progress), 0.8),
    (lambda model, progress: stowage.compare(model, stream=True, time_limit=0.3, progress=progress), 0.3),
    (lambda model, progress: stowage.sweep(model, memory={"SRAM": "64KiB..128KiB"}, stream=True, time_limit=0.1,
                                           progress=progress), 0.5),
], ids=["pack", "plan", "compare", "sweep"])
def test_progress_is_of_the_whole_call_and_never_falls(classifier, call, end):
    seen = []
    call(classifier, lambda what, fraction: seen.append((what, fraction)))
    fractions = [fraction for _, fraction in seen]
    assert len(seen) > 3 and fractions == sorted(fractions) and end <= fractions[-1] <= 1, seen
    assert fractions[0] < 0.5 and all(what for what, _ in seen)


def test_progress_of_an_effort_stays_at_nothing():
    seen = []
    stowage.pack(*lives_that_take_long(), effort=300, progress=lambda what, fraction: seen.append(fraction))
    assert seen and set(seen) == {0}


def test_progress_that_returns_false_keeps_the_best_so_far(classifier):
    def later(count, answer):
        calls = []
        return calls, lambda what, fraction: calls.append(what) or (answer if len(calls) > count else None)

    begin = time.monotonic()
    calls, stop = later(3, False)
    offsets = stowage.pack(*lives_that_take_long(), time_limit=60, progress=stop)
    assert offsets.interrupted and offsets.peak >= offsets.bound > 0 and len(calls) == 4
    options = {"stream": True, "memory": {"SRAM": "64KiB", "DRAM": None}, "moves": True, "time_limit": 60}
    calls, stop = later(0, False)
    plan = stowage.plan(classifier, progress=stop, **options)
    assert plan.interrupted and plan.verify() == [] and len(calls) == 1
    assert time.monotonic() - begin < 30
    for answer in (None, 0, np.bool_(False)):
        calls, go_on = later(0, answer)
        stowage.pack(*lives_that_take_long(), time_limit=0.5, progress=go_on)
        assert len(calls) > 1


INTERRUPTED = """
import _thread, sys, threading, time
import numpy as np, stowage
rng = np.random.default_rng(0)
lower = rng.integers(0, 300, 5000)
threading.Timer(0.5, _thread.interrupt_main).start()
begin = time.perf_counter()
offsets = stowage.pack(lower, lower + rng.integers(1, 40, 5000), rng.integers(1, 4000, 5000), time_limit=60)
assert offsets.interrupted and time.perf_counter() - begin < 20, offsets.strategy
print("kept", offsets.peak >= offsets.bound > 0)
"""


def test_an_interrupt_keeps_the_best_so_far():
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=60)
    assert done.stdout == "kept True\n", done.stderr


def test_other_threads_run_meanwhile():
    import threading
    import time

    rng = np.random.default_rng(0)
    lower = rng.integers(0, 300, 3000)
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(0)
            time.sleep(0.01)

    ticker = threading.Thread(target=tick)
    ticker.start()
    stowage.pack(lower, lower + rng.integers(1, 40, 3000), rng.integers(1, 4000, 3000), time_limit=0.6)
    done.set()
    ticker.join()
    assert len(ticks) > 5


def test_errors_can_be_pickled():
    error = stowage.Error("a: b: c", "a", "b", "c")
    assert str(pickle.loads(pickle.dumps(error))) == "a: b: c"


def test_command(classifier):
    program = shutil.which("stowage", path=str(__import__("pathlib").Path(sys.executable).parent))
    assert program, "the command is not beside the interpreter"
    done = subprocess.run([program, "plan", classifier], capture_output=True, text=True)
    assert done.returncode == 0 and "737280 bytes" in done.stdout
    assert subprocess.run([program, "plan", "--align", "0", classifier], capture_output=True).returncode == 2
    printed = subprocess.run([sys.executable, "-m", "stowage", "--version"], capture_output=True, text=True).stdout
    assert printed.splitlines()[0] == stowage.__version__ == importlib.metadata.version("stowage")
    assert "\nparts  runner" in printed and "oneDNN" not in printed


def test_command_ends_quietly_if_nobody_reads(classifier):
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run([sys.executable, "-m", "stowage", "plan", classifier], stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (0, b"")
