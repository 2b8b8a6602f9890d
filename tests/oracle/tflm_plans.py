#!/usr/bin/env python3
"""What TensorFlow Lite Micro makes of models with and without a plan.

    tflm_plans.py RUNS MODEL PLANNED...   (pairs of files)

Prints one line of JSON for each pair: bytes of the arena's planned part ("head") and of the whole arena, for both
files, and whether all outputs of RUNS random inputs are equal; or an "error". Needs tflite-micro and numpy.
"""

import json
import os
import pathlib
import re
import sys
import tempfile
import zlib

import numpy as np
from tflite_micro import runtime
from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema

ARENA_BYTES = 64 * 1024 * 1024


def allocations(interpreter):
    """The runtime prints them."""
    kept = [os.dup(fd) for fd in (1, 2)]
    with tempfile.TemporaryFile() as file:
        sys.stdout.flush()
        for fd in (1, 2):
            os.dup2(file.fileno(), fd)
        interpreter.print_allocations()
        for fd, old in zip((1, 2), kept):
            os.dup2(old, fd)
            os.close(old)
        file.seek(0)
        text = file.read().decode()
    return {part: int(re.search(rf"allocation {part} (\d+) bytes", text)[1]) for part in ("head", "total")}


def random_input(generator, details):
    dtype, shape = np.dtype(details["dtype"]), tuple(details["shape"])
    if dtype.kind == "f":
        return generator.uniform(-1, 1, shape).astype(dtype)
    if dtype.kind == "b":
        return generator.integers(0, 2, shape).astype(dtype)
    limits = np.iinfo(dtype)
    return generator.integers(max(limits.min, -(2**15)), min(limits.max, 2**15 - 1), shape, endpoint=True).astype(dtype)


def outputs_of(interpreter, graph, runs, seed):
    generator = np.random.default_rng(seed)
    result = []
    for _ in range(runs):
        for i in range(graph.InputsLength()):
            interpreter.set_input(random_input(generator, interpreter.get_input_details(i)), i)
        interpreter.invoke()
        result += [interpreter.get_output(i).tobytes() for i in range(graph.OutputsLength())]
    return result


def compare(runs, model, planned):
    seed = zlib.crc32(pathlib.Path(model).stem.encode())
    contents = [pathlib.Path(file).read_bytes() for file in (model, planned)]
    graph = schema.Model.GetRootAs(contents[0]).Subgraphs(0)
    interpreters = [runtime.Interpreter.from_bytes(content, arena_size=ARENA_BYTES) for content in contents]
    before, after = (allocations(interpreter) for interpreter in interpreters)
    expected, found = (outputs_of(interpreter, graph, runs, seed) for interpreter in interpreters)
    return {"before": before, "after": after, "outputs": len(expected), "equal": expected == found}


def main():
    runs, files = int(sys.argv[1]), sys.argv[2:]
    for model, planned in zip(files[::2], files[1::2]):
        try:
            result = compare(runs, model, planned)
        except (RuntimeError, ValueError) as error:
            result = {"error": str(error)}
        print(json.dumps({"model": pathlib.Path(model).stem, **result}), flush=True)


if __name__ == "__main__":
    main()
