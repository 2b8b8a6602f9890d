#!/usr/bin/env python3
"""Attention that onnxruntime joins, in the forms that docs/onnx.md names: random networks of one operator, which
`stowage run --check=all` and onnxruntime must answer alike, and the C of `stowage generate` as its test says.

    PYTHON tests/oracle/fused_attention.py build/release/stowage FOLDER [--generate]
"""

import argparse
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

BATCH, WORDS, HEADS, DEPTH, INPUTS, PAST = 2, 5, 3, 4, 7, 3
WIDTH = HEADS * DEPTH
TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int32): TensorProto.INT32,
         np.dtype(np.uint8): TensorProto.UINT8}
RANDOM = np.random.default_rng(3)


def reals(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def mask_of(kind, keys):
    if kind == "lengths":
        return RANDOM.integers(1, keys + 1, BATCH).astype(np.int32)
    if kind == "none is seen":
        return np.zeros((BATCH, keys), np.int32)
    shape = (BATCH, keys) if kind == "keys" else (BATCH, WORDS, keys)
    return (RANDOM.random(shape) > 0.3).astype(np.int32)


class Case:
    """One operator: inputs by place, of which constants are weights."""

    def __init__(self, name, kind, outputs, **attributes):
        self.name, self.kind, self.outputs, self.attributes = name, kind, outputs, attributes
        self.inputs, self.constants = {}, {}

    def give(self, place, value):
        self.inputs[place] = np.asarray(value)

    def hold(self, place, value):
        self.constants[place] = np.asarray(value)

    def model(self):
        places = {**self.inputs, **self.constants}
        names = [f"i{i}" if i in places else "" for i in range(max(places) + 1)]
        outputs = [f"o{i}" for i in range(len(self.outputs))]
        node = helper.make_node(self.kind, names, outputs, domain="com.microsoft", num_heads=HEADS,
                                **self.attributes)
        graph = helper.make_graph(
            [node], self.name.replace(" ", "_"),
            [helper.make_tensor_value_info(f"i{i}", TYPES[it.dtype], it.shape) for i, it in self.inputs.items()],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
             for name, shape in zip(outputs, self.outputs)],
            [numpy_helper.from_array(it, f"i{i}") for i, it in self.constants.items()])
        sets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=sets, ir_version=8)


def joint(name, mask="", past=False, bias=True, scores=False, present=False, sizes=None, **attributes):
    queries, _, values = sizes or (WIDTH,) * 3
    keys = WORDS + (PAST if past else 0)
    outputs = [(BATCH, WORDS, values)] + ([(2, BATCH, HEADS, keys, DEPTH)] if present else [])
    case = Case("attention " + name, "Attention", outputs, **attributes,
                **({"qkv_hidden_sizes": sizes} if sizes else {}))
    case.give(0, reals(BATCH, WORDS, INPUTS))
    case.hold(1, reals(INPUTS, 2 * queries + values))
    if bias:
        case.hold(2, reals(2 * queries + values))
    if mask:
        case.give(3, mask_of(mask, keys))
    if past:
        case.give(4, reals(2, BATCH, HEADS, PAST, DEPTH))
    if scores:
        case.give(5, reals(1, HEADS, WORDS, keys))
    return case


def apart(name, mask="", past=False, bias=False, scores=False, present=False, words=WORDS, values=WIDTH,
          heads=False, **attributes):
    keys = words + (PAST if past else 0)
    outputs = [(BATCH, WORDS, values)]
    if present:
        outputs += [(BATCH, HEADS, keys, DEPTH), (BATCH, HEADS, keys, values // HEADS)]
    case = Case("heads " + name, "MultiHeadAttention", outputs, **attributes)
    case.give(0, reals(BATCH, WORDS, WIDTH))
    for place, width in ((1, WIDTH), (2, values)):
        case.give(place, reals(BATCH, HEADS, words, width // HEADS) if heads else reals(BATCH, words, width))
    if bias:
        case.hold(3, reals(2 * WIDTH + values))
    if mask:
        case.give(4, mask_of(mask, keys))
    if scores:
        case.give(5, reals(1, HEADS, WORDS, keys))
    if past:
        case.give(6, reals(BATCH, HEADS, PAST, DEPTH))
        case.give(7, reals(BATCH, HEADS, PAST, values // HEADS))
    return case


def quantized(name, dtype, mask="", **attributes):
    case = Case("quantized " + name, "QAttention", [(BATCH, WORDS, WIDTH)], **attributes)
    case.give(0, RANDOM.integers(0, 256, (BATCH, WORDS, INPUTS)).astype(np.uint8))
    # Small ones: processors without VNNI cut sums of products off in onnxruntime.
    middle = 0 if dtype == np.int8 else 128
    case.hold(1, (RANDOM.integers(-42, 43, (INPUTS, 3 * WIDTH)) + middle).astype(dtype))
    case.hold(2, reals(3 * WIDTH))
    for place, value in ((3, np.float32(0.01)), (4, np.float32(0.01)), (6, np.uint8(120)), (7, dtype(middle))):
        case.hold(place, value)
    if mask:
        case.give(5, mask_of(mask, WORDS))
    return case


def cases():
    for make, text in ((joint, "attention"), (apart, "heads")):
        yield make("plain")
        yield make("with the other bias", bias=text != "attention")
        for mask in ("keys", "lengths", "queries and keys", "none is seen"):
            yield make("mask of " + mask, mask=mask)
        yield make("causal", unidirectional=1)
        yield make("causal, mask", mask="keys", unidirectional=1)
        yield make("past", past=True, present=True)
        yield make("past, causal", past=True, present=True, unidirectional=1, mask="keys")
        yield make("present", present=True)
        yield make("bias of scores", scores=True, mask="keys")
        yield make("scale", scale=0.3)
        yield make("filter", mask="keys", mask_filter_value=-3.0)
    yield joint("wide values", sizes=[WIDTH, WIDTH, 2 * WIDTH])
    yield apart("wide values", values=2 * WIDTH, bias=True)
    yield apart("other words", words=8, mask="keys")
    yield apart("keys with heads", words=8, heads=True)
    yield quantized("uint8", np.uint8)
    yield quantized("int8", np.int8)
    yield quantized("mask", np.uint8, mask="keys")
    yield quantized("causal", np.uint8, unidirectional=1)


def stowage(command):
    done = subprocess.run([str(it) for it in command], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else (done.stdout + done.stderr)[-500:]


def fault_of(case, program, folder, generates):
    """Also returns the greatest difference."""
    path = folder / (case.name.replace(" ", "_").replace(",", "") + ".onnx")
    onnx.save(case.model(), path)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    wanted = session.run(None, {f"i{i}": it for i, it in case.inputs.items()})
    given, saved = [], []
    for i, value in case.inputs.items():
        np.save(folder / f"i{i}.npy", value)
        given += ["--input", f"i{i}={folder / f'i{i}.npy'}"]
    for o in range(len(wanted)):
        saved += ["--save", f"o{o}={folder / f'o{o}.npy'}"]
    fault = stowage([program, "run", path, "--check=all", *given, *saved])
    if fault:
        return fault, 0
    worst = max(float(np.abs(np.load(folder / f"o{o}.npy") - it).max()) for o, it in enumerate(wanted))
    if worst > 1e-5:
        return f"differs by {worst}", worst
    if generates:
        return stowage([program, "generate", path, *given, "-o", folder / "c", "--force"]), worst
    return "", worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stowage")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--generate", action="store_true", help="write, compile and run the C, too")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    faults, worst, count = 0, 0.0, 0
    for case in cases():
        fault, difference = fault_of(case, arguments.stowage, arguments.folder, arguments.generate)
        count, worst = count + 1, max(worst, difference)
        if fault:
            faults += 1
            print(f"{case.name}: {fault}")
    print(f"{count} forms, {faults} faults, differences of at most {worst:.1e}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
