#!/usr/bin/env python3
"""What TensorFlow Lite Micro makes of random inputs, for comparison.

    tflm.py OUT_DIR [MODEL.tflite...]

For each of these models, and of the small ones that tflm_models.py makes, writes OUT_DIR/tflm_<stem>/case.json and, for each set k, set_<k>/input_<i>.npy and output_<i>.npy. Needs the
packages tflite-micro, flatbuffers and numpy. A set begins with the model's variables reset.
"""

import json
import pathlib
import sys
import zlib

import numpy as np
import tflm_models
from tflite_micro.python.tflite_micro import runtime
from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema

SETS = 20
ARENA_BYTES = 64 * 1024 * 1024


def tensor_names(model, indices):
    tensors = model.subgraphs[0].tensors
    return [(tensors[i].name or b"").decode(errors="replace") for i in indices]


def random_input(generator, details, is_narrow):
    """Numbers of the whole range, or of a quarter of it so that activations do not saturate."""
    dtype = np.dtype(details["dtype"])
    shape = tuple(details["shape"])
    if dtype.kind == "f":
        return generator.uniform(-0.25 if is_narrow else -1, 0.25 if is_narrow else 1, shape).astype(dtype)
    if dtype.kind == "b":
        return generator.integers(0, 2, shape).astype(dtype)
    limits = np.iinfo(dtype)
    least, most = max(limits.min, -(2**15)), min(limits.max, 2**15 - 1)
    if is_narrow:
        zero_points = details["quantization_parameters"]["zero_points"]
        middle = int(zero_points[0]) if len(zero_points) else 0
        spread = (most - least) // 8
        least, most = max(least, middle - spread), min(most, middle + spread)
    return generator.integers(least, most, shape, endpoint=True).astype(dtype)


def write_case(directory, path):
    content = path.read_bytes()
    model = schema.ModelT.InitFromPackedBuf(content, 0)
    graph = model.subgraphs[0]
    interpreter = runtime.Interpreter.from_bytes(content, arena_size=ARENA_BYTES)
    case = directory / f"tflm_{path.stem}"
    case.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(zlib.crc32(path.stem.encode()))
    for k in range(SETS):
        folder = case / f"set_{k}"
        folder.mkdir(exist_ok=True)
        interpreter.reset()
        for i in range(len(graph.inputs)):
            values = random_input(generator, interpreter.get_input_details(i), k % 2 == 1)
            np.save(folder / f"input_{i}.npy", values)
            interpreter.set_input(values, i)
        interpreter.invoke()
        for i in range(len(graph.outputs)):
            np.save(folder / f"output_{i}.npy", interpreter.get_output(i))
    summary = {
        "model": str(path.resolve()),
        "sets": SETS,
        "inputs": tensor_names(model, graph.inputs),
        "outputs": tensor_names(model, graph.outputs),
    }
    (case / "case.json").write_text(json.dumps(summary, indent=2) + "\n")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    directory = pathlib.Path(sys.argv[1])
    for name in [*sys.argv[2:], *tflm_models.write_all(directory / "tflite")]:
        try:
            write_case(directory, pathlib.Path(name))
        except RuntimeError as error:
            print(f"tflm: {name}: cannot be run: {error}")
        else:
            print("tflm:", name)


if __name__ == "__main__":
    main()
