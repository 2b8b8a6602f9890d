#!/usr/bin/env python3
"""What TensorFlow Lite Micro needs of an arena, as it measures it itself.

    tflm_arena.py RUNS FILE...   (models, or pairs MODEL=PLANNED)

Prints one line of JSON for each file or pair. For each file: bytes of the arena's planned part ("head"), of the rest
("tail"), of both ("total"), and of the smallest arena that the interpreter starts in ("smallest", a multiple of 16).
For outputs of RUNS random inputs: whether they vary ("varies"), and whether they are equal in the smallest arena and,
for a pair, in both files ("equal"). A file that the runtime does not take has an "error". Needs tflite-micro, numpy.
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
STEP = 16


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
    return {part: int(re.search(rf"allocation {part} (\d+) bytes", text)[1]) for part in ("head", "tail", "total")}


def in_child(work):
    """The result of `work` as JSON, in a process of its own, for the runtime may end it; None if it did."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reading)
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 2)
            with os.fdopen(writing, "w") as pipe:
                json.dump(work(), pipe)
            status = 0
        except (RuntimeError, ValueError):
            pass
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    return json.loads(text) if status == 0 else None


def random_input(generator, details):
    """Numbers around a middle, of different size from run to run, so that runs differ by more than noise."""
    dtype, shape = np.dtype(details["dtype"]), tuple(details["shape"])
    middle, spread = generator.uniform(-1, 1), generator.uniform(0, 1)
    values = middle + spread * generator.uniform(-1, 1, shape)
    if dtype.kind == "f":
        return (values * 10 ** generator.uniform(-1, 2)).astype(dtype)
    if dtype.kind == "b":
        return values > 0
    limits = np.iinfo(dtype)
    least, most = max(limits.min, -(2**15)), min(limits.max, 2**15 - 1)
    return np.clip((values + 1) / 2 * (most - least) + least, least, most).astype(dtype)


def outputs_of(content, arena, runs, seed):
    """A hash of the outputs of each run."""
    graph = schema.Model.GetRootAs(content).Subgraphs(0)
    interpreter = runtime.Interpreter.from_bytes(content, arena_size=arena)
    generator = np.random.default_rng(seed)
    result = []
    for _ in range(runs):
        for i in range(graph.InputsLength()):
            interpreter.set_input(random_input(generator, interpreter.get_input_details(i)), i)
        interpreter.invoke()
        result.append(zlib.crc32(b"".join(interpreter.get_output(i).tobytes() for i in range(graph.OutputsLength()))))
    return result


def starts(content, arena):
    def start():
        runtime.Interpreter.from_bytes(content, arena_size=arena)
        return True

    return in_child(start) is not None


def smallest_arena(content, known):
    """The first multiple of 16 that works, given one that does."""
    low, high = 0, known // STEP
    least = high - 8  # most need nearly what they use
    if least > low and not starts(content, least * STEP):
        low = least
    while high - low > 1:
        middle = (low + high) // 2
        if starts(content, middle * STEP):
            high = middle
        else:
            low = middle
    return high * STEP


def measure(content, arena=ARENA_BYTES):
    sizes = in_child(lambda: allocations(runtime.Interpreter.from_bytes(content, arena_size=arena)))
    if sizes is None:
        return None
    known = -(-sizes["total"] // STEP) * STEP
    while not starts(content, known):
        known *= 2
    sizes["smallest"] = smallest_arena(content, known)
    return sizes


def report(runs, files):
    contents = [pathlib.Path(file).read_bytes() for file in files]
    seed = zlib.crc32(pathlib.Path(files[0]).stem.encode())
    result = {"model": pathlib.Path(files[0]).stem}
    outputs = []
    for name, content in zip(("before", "after"), contents):
        sizes = measure(content)
        if sizes is None:
            return {**result, "error": f"the runtime does not take {name}"}
        result[name] = sizes
        for arena in (ARENA_BYTES, sizes["smallest"]):
            outputs.append(in_child(lambda: outputs_of(content, arena, runs, seed)))
    if outputs[0] is None:
        return {**result, "error": "the model does not run"}
    result["equal"] = all(output == outputs[0] for output in outputs)
    if not result["equal"]:
        result["outputs"] = outputs
    result["varies"] = len(set(outputs[0])) > 1
    return result


def main():
    runs = int(sys.argv[1])
    for argument in sys.argv[2:]:
        print(json.dumps(report(runs, argument.split("="))), flush=True)


if __name__ == "__main__":
    main()
