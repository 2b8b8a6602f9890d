"""The package as others see it: what it shows, how fast it is there, whether its examples and types are right."""

import doctest
import importlib
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import stowage
from stowage import _core


@pytest.mark.parametrize("name", ["stowage", "stowage._pack", "stowage._plan"])
def test_examples(name, root, monkeypatch):
    monkeypatch.chdir(root)
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    assert found.attempted > 0 and found.failed == 0


def test_documents(root, monkeypatch, tmp_path):
    """The sessions of docs/python.md, which write only to a folder of their own."""
    (tmp_path / "examples").symlink_to(root / "examples")
    monkeypatch.chdir(tmp_path)
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    found = doctest.testfile(str(root / "docs/python.md"), module_relative=False, optionflags=options)
    assert found.attempted > 5 and found.failed == 0


def test_everything_has_a_docstring():
    for name in stowage.__all__:
        thing = getattr(stowage, name)
        assert name == "__version__" or thing.__doc__, name
    for name, thing in vars(stowage.Plan).items():
        assert name.startswith("_") or thing.__doc__, name
    with pytest.raises(AttributeError, match="nothing"):
        stowage.nothing


def test_stub_has_all_functions():
    stub = (pathlib.Path(stowage.__file__).parent / "_core.pyi").read_text()
    for name in dir(_core):
        if not name.startswith("_"):
            assert f"def {name}(" in stub or f"class {name}:" in stub or f"{name}: " in stub, name
    for name in dir(_core.Plan):
        assert name.startswith("_") or f"def {name}(" in stub, name
    assert (pathlib.Path(stowage.__file__).parent / "py.typed").exists()


def test_import_takes_nothing_along():
    program = "import sys, stowage; assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_module_shows_one_symbol_and_needs_the_system_alone():
    tool = subprocess.run(["sh", "-c", "command -v nm && command -v readelf"], capture_output=True)
    if tool.returncode != 0:
        pytest.skip("nm and readelf are not installed")
    shown = subprocess.run(["nm", "-D", "--defined-only", _core.__file__], capture_output=True, text=True, check=True)
    assert [line.split()[-1] for line in shown.stdout.splitlines()] == ["PyInit__core"]
    needed = subprocess.run(["readelf", "-d", _core.__file__], capture_output=True, text=True, check=True).stdout
    libraries = {line.split("[")[1].rstrip("]") for line in needed.splitlines() if "(NEEDED)" in line}
    assert libraries <= {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "libgcc_s.so.1",
                         "ld-linux-x86-64.so.2"}
    assert os.path.getsize(_core.__file__) < 20_000_000


@pytest.mark.parametrize("order", ["onnx, stowage", "stowage, onnx", "pandas, stowage, onnx"])
def test_neighbours(order, root):
    """Packages with protobuf in them, before and after ours, both used."""
    for name in ("onnx", "pandas"):
        pytest.importorskip(name)
    program = (f"import {order}; import stowage, onnx; model = onnx.load('examples/classifier.onnx');"
               "assert stowage.plan(model).peak == 737280; onnx.checker.check_model(model);"
               "stowage.run(model, random_weights=1)")
    subprocess.run([sys.executable, "-c", program], check=True, cwd=root)


def test_a_million_buffers():
    """The arrays cost little; what takes time is the packing."""
    rng = np.random.default_rng(0)
    lower = rng.integers(0, 100_000, 1_000_000)
    offsets = stowage.pack(lower, lower + rng.integers(1, 20, 1_000_000), rng.integers(1, 1 << 16, 1_000_000),
                           strategy="free-list", time_limit=0.1)
    assert len(offsets) == 1_000_000 and offsets.peak >= offsets.bound > 0
