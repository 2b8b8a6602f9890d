"""The programs and commands of docs/sweeps.md, as they stand there, with a model that leaves two sizes open."""

import ast
import os
import re
import shutil
import subprocess
import sys

import pytest

onnx = pytest.importorskip("onnx")


@pytest.fixture
def page(root, tmp_path, monkeypatch):
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    shape = ["batch", "sequence", 64]
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Add", ["a", "x"], ["y"])]
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", kind, shape)],
                              [helper.make_tensor_value_info("y", kind, shape)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "model.onnx")
    monkeypatch.chdir(tmp_path)
    return (root / "docs/sweeps.md").read_text()


def block_of(page, title):
    return re.search(rf"^## {title}\n.*?^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE).group(1)


def test_grid_over_strategies(page, capsys):
    exec(block_of(page, "A grid over strategies"), {})
    rows = ast.literal_eval(capsys.readouterr().out)
    assert len(rows) == 8 and ("auto", 128, 65536, "") in rows
    obstacles = [obstacle for _, _, peak, obstacle in rows if peak is None]
    assert obstacles and all(obstacles)


@pytest.mark.parametrize("title", ["joblib", "Optuna", "submitit"])
def test_programs(page, title, tmp_path):
    pytest.importorskip(title.lower())
    program = block_of(page, title)
    if title == "submitit":
        program = program.replace('folder="log"', 'folder="log", cluster="local"')
    (tmp_path / "sweep.py").write_text(program + "\nprint(rows)\n" * (title == "joblib"))
    run = subprocess.run([sys.executable, "sweep.py"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    peaks = re.findall(r"\d+", run.stdout)
    if title == "Optuna":
        assert "'batch': 8" in run.stdout and "'sequence': 128" in run.stdout, run.stdout
    else:
        assert "32768" in peaks, run.stdout  # of 64 tokens: two tensors of 64 numbers


@pytest.mark.skipif(shutil.which("xargs") is None, reason="no xargs")
def test_commands(page, tmp_path):
    section = re.search(r"^## xargs\n(.*?)^## ", page, re.DOTALL | re.MULTILINE).group(1)
    script = "\n".join(line[4:] for line in section.splitlines() if line.startswith("    "))
    path = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
    run = subprocess.run(["bash", "-e", "-c", script], capture_output=True, text=True, env={**os.environ, "PATH": path})
    assert run.returncode == 0, run.stderr
    assert len(run.stdout.splitlines()) == 8 and "plan-64.json" in run.stdout
