"""The JSON Schemas of problems, solutions, plans and devices, by a validator of somebody else.

What a schema refuses the reader refuses, too: mutants of documents show it.
"""

import copy
import json
import random
from pathlib import Path

import pytest

from stowage import _core

jsonschema = pytest.importorskip("jsonschema")

TREE = Path(__file__).parents[2]
REJECTED = 3  # exit status of the command: a file that it cannot read


def validator(name):
    schema = json.loads((TREE / "docs" / f"{name}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def command(*arguments):
    return _core.command(["stowage", *map(str, arguments)])


def places(document, at=()):
    """Paths of all members and elements."""
    items = document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    for key, value in items:
        yield (*at, key)
        yield from places(value, (*at, key))


def mutant(document, draw):
    """One member is gone, is of another type or range, has another name, or there is one more."""
    changed = copy.deepcopy(document)
    *path, key = draw.choice(list(places(changed)))
    holder = changed
    for step in path:
        holder = holder[step]
    kind = draw.randrange(4)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, dict):
        holder[key + "s"] = holder.pop(key)
    elif kind == 2 and isinstance(holder, list):
        holder.append(copy.deepcopy(holder[0]))
    else:
        holder[key] = draw.choice([-1, 0, 1.5, 2 ** 62, "z", [], [0], [3, 1, 2], {}, True, {"x": 1}])
    return changed


def problem(draw):
    """A random problem with everything, on one clock or in a partial order."""
    names = [f"b{i}" for i in range(draw.randrange(2, 7))]
    two = lambda: draw.sample(names, 2)  # noqa: E731
    buffers = [{"id": name, "size": draw.randrange(1, 9)} for name in names]
    document = {"format": "stowage-problem", "version": 1, "name": "random",
                "objective": draw.choice(["cost", "cost_then_peak", "peak_then_cost"]),
                "memories": [{"name": "fast", "capacity": 64, "cost": 1, "reserved": [[0, 2]]}, {"name": "slow", "cost": draw.choice([1, 3])}],
                "buffers": buffers, "apart": [two()], "reuse_costs": [{"buffers": two(), "cost": 3}]}
    way = draw.randrange(3)
    for buffer in buffers:
        begin = draw.randrange(4)
        if way == 0:
            buffer["lives"] = [[begin, begin + 2]]
        elif way == 1:
            buffer["events"] = [begin, begin + 1]
        else:
            buffer["clocks"] = [[begin, 0], [begin + 1, draw.randrange(2)]]
        if draw.random() < 0.3:
            buffer["alignment"] = 4
        if draw.random() < 0.3:
            buffer["memories"] = ["fast"]
        if draw.random() < 0.3:
            buffer["copy_gains"] = [2, 2]
    if way == 1:
        document["events"] = {"count": 6, "before": [[i, i + 1] for i in range(5)]}
    if way == 0 and not any("copy_gains" in buffer for buffer in buffers):
        document["together"] = [{"buffers": two(), "distance": 0}]
        document["apart"] = []
    return document


def test_problems_and_solutions(tmp_path):
    draw = random.Random(1)
    problems, solutions = validator("problem"), validator("solution")
    file, output = tmp_path / "problem.json", tmp_path / "solution.json"
    refused = read = 0
    for _ in range(20):
        document = problem(draw)
        problems.validate(document)
        file.write_text(json.dumps(document))
        status, _, message = command("pack", file, "-o", output, "--effort", 5)
        assert status in (0, 1), message
        if status == 0:
            solution = json.loads(output.read_text())
            solutions.validate(solution)
            assert command("pack", file, "--verify", output)[0] == 0
            for _ in range(10):
                changed = mutant(solution, draw)
                output.write_text(json.dumps(changed))
                if command("pack", file, "--verify", output)[0] == REJECTED:
                    refused += 1
                else:
                    assert solutions.is_valid(changed), changed
                    read += 1
        for _ in range(20):
            changed = mutant(document, draw)
            file.write_text(json.dumps(changed))
            if command("pack", file, "--effort", 0)[0] == REJECTED:
                refused += 1
            else:
                assert problems.is_valid(changed), changed
                read += 1
    assert refused > 100 and read > 20


@pytest.mark.parametrize("options", [
    ["examples/buffers.csv"], ["examples/buffers.csv", "--strategy", "slots"],
    ["examples/buffers.csv", "--strategy", "rectangle"], ["examples/classifier.onnx"],
    ["examples/classifier.onnx", "--stream"], ["examples/classifier.onnx", "--stream", "--io", "rows"],
    ["examples/classifier.onnx", "--stream", "--layout", "ring", "--expanded"],
    ["examples/classifier.onnx", "--memory", "SRAM=2K", "--memory", "PSRAM", "--moves"],
    ["examples/classifier.onnx", "examples/classifier.onnx"]])
def test_plans(tmp_path, options):
    draw = random.Random(2)
    plans = validator("plan")
    file = tmp_path / "plan.json"
    given = [TREE / option if option.startswith("examples/") else option for option in options]
    status, _, message = command("plan", *given, "-o", file, "--effort", 50)
    assert status == 0, message
    plan = json.loads(file.read_text())
    plans.validate(plan)
    refused = 0
    for _ in range(60):
        changed = mutant(plan, draw)
        if plans.is_valid(changed):
            continue
        file.write_text(json.dumps(changed))
        assert command("verify", file)[0] == REJECTED, changed
        refused += 1
    assert refused > 5


def test_devices():
    devices = validator("device")
    files = sorted((TREE / "devices").glob("*.json"))
    assert files
    for file in files:
        devices.validate(json.loads(file.read_text()))
