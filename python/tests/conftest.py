"""The installed package is tested, with the models of examples/."""

import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def root():
    return ROOT


@pytest.fixture
def classifier():
    return ROOT / "examples/classifier.onnx"


@pytest.fixture
def buffers():
    return ROOT / "examples/buffers.csv"


@pytest.fixture
def branches():
    return ROOT / "examples/branches.json"


@pytest.fixture
def tflite():
    """A TFLite model, where there is one."""
    import os

    folder = pathlib.Path(os.environ.get("STOWAGE_DATA_DIR", ROOT.parent / "shared/data")) / "models/tflite"
    for name in ("person_detect.tflite", "hello_world_int8.tflite"):
        if (folder / name).exists():
            return folder / name
    pytest.skip(f"no TFLite model in {folder}")
