#!/usr/bin/env python3
"""Holds offsets that are functions of open sizes against a plan for each size alone.

    bench/open_sizes.py build/release/stowage [MODELS]

MODELS is a folder that bench/models/fetch.py has filled; of these minilm_l3.onnx is taken. A decoder with key and value
caches of two open sizes is made here, with the Python package onnx. Prints a Markdown table: of some sizes drawn at
random, the largest and the mean peak of the functions above that of a plan for that size alone, in per cent, and the
seconds of both. Sizes that the model rejects do not count.
"""
import argparse
import json
import pathlib
import random
import subprocess
import tempfile
import time

LAYERS, HEADS, WIDTH = 4, 4, 16
INNER = HEADS * WIDTH


def decoder(file):
    """Four layers of attention over all tokens so far, with as many heads, and a gated product behind each."""
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    nodes, weights, inputs, outputs = [], [], [], []

    def tensor(name, shape):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    def weight(name, shape):
        weights.append(numpy_helper.from_array(numpy.zeros(shape, numpy.float32), name))
        return name

    def apply(kind, operands, name=None, **attributes):
        result = name or f"{kind}_{len(nodes)}"
        nodes.append(helper.make_node(kind, operands, [result], **attributes))
        return result

    weights.append(numpy_helper.from_array(numpy.array([1, -1, HEADS, WIDTH], numpy.int64), "apart"))
    weights.append(numpy_helper.from_array(numpy.array([1, -1, INNER], numpy.int64), "together"))
    inputs.append(tensor("x", [1, "seq", INNER]))
    x = "x"
    for layer in range(LAYERS):
        def heads(which, of):
            product = apply("MatMul", [of, weight(f"w{which}{layer}", (INNER, INNER))])
            return apply("Transpose", [apply("Reshape", [product, "apart"])], perm=[0, 2, 1, 3])

        norm = apply("LayerNormalization", [x, weight(f"g{layer}", (INNER,)), weight(f"b{layer}", (INNER,))])
        query, caches = heads("q", norm), []
        for which in "kv":
            inputs.append(tensor(f"past_{which}{layer}", [1, HEADS, "past", WIDTH]))
            outputs.append(tensor(f"{which}{layer}", [1, HEADS, "total", WIDTH]))
            caches.append(apply("Concat", [f"past_{which}{layer}", heads(which, norm)], f"{which}{layer}", axis=2))
        keys = apply("Transpose", [caches[0]], perm=[0, 1, 3, 2])
        scores = apply("Softmax", [apply("MatMul", [query, keys])], axis=-1)
        mixed = apply("Transpose", [apply("MatMul", [scores, caches[1]])], perm=[0, 2, 1, 3])
        joined = apply("Reshape", [mixed, "together"])
        x = apply("Add", [x, apply("MatMul", [joined, weight(f"wo{layer}", (INNER, INNER))])])
        norm = apply("LayerNormalization", [x, weight(f"h{layer}", (INNER,)), weight(f"c{layer}", (INNER,))])
        gate = apply("MatMul", [norm, weight(f"wg{layer}", (INNER, 172))])
        up = apply("MatMul", [norm, weight(f"wu{layer}", (INNER, 172))])
        gated = apply("Mul", [apply("Mul", [gate, apply("Sigmoid", [gate])]), up])
        x = apply("Add", [x, apply("MatMul", [gated, weight(f"wd{layer}", (172, INNER))])])
    apply("MatMul", [x, weight("words", (INNER, 256))], "logits")
    outputs.append(tensor("logits", [1, "seq", 256]))
    graph = helper.make_graph(nodes, "decoder", inputs, outputs, weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), file)


def measure(program, file, given, ranges, io, count):
    def run(*arguments):
        begin = time.monotonic()
        done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
        return done, time.monotonic() - begin

    options = [str(file), "--io", io, "--effort", "3000"]
    dims = [it for name, size in given.items() for it in ("--dim", f"{name}={size}")]
    with tempfile.TemporaryDirectory() as folder:
        plan = f"{folder}/plan.json"
        box = [it for name, (least, most) in ranges.items() for it in ("--dim", f"{name}={least}..{most}")]
        made, seconds = run("plan", *options, *dims, *box, "--offsets", "symbolic", "-o", plan)
        if made.returncode != 0:
            raise SystemExit(made.stderr)
        draw, above, alone = random.Random(1), [], []
        while len(above) < count:
            at = [it for name, (least, most) in ranges.items()
                  for it in ("--dim", f"{name}={draw.randint(least, most)}")]
            exact, its_seconds = run("plan", *options, *dims, *at, "--json")
            if exact.returncode != 0:
                continue
            checked, _ = run("verify", plan, "--model", str(file), *dims, *at, "--json")
            verdict = json.loads(checked.stdout)
            if not verdict["valid"]:
                raise SystemExit(checked.stdout)
            above.append(verdict["peak"] / json.loads(exact.stdout)["summary"]["peak"] - 1)
            alone.append(its_seconds)
    print(f"|{file.stem}|{io}|{', '.join(f'{n} {a} to {b}' for n, (a, b) in ranges.items())}|{count}"
          f"|{100 * max(above):.2f}|{100 * sum(above) / count:.2f}|{seconds:.2f}|{sum(alone) / count:.2f}|", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("models", nargs="?", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=100, help="Sizes of each. Default: 100")
    given = parser.parse_args()
    print("|model|io|sizes|drawn|largest %|mean %|seconds of functions|of a plan alone|\n|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "decoder.onnx"
        decoder(file)
        for io in ("arena", "external"):
            measure(given.program, file, {}, {"seq": (1, 128), "past": (1, 511)}, io, given.count)
    encoder = given.models and given.models / "minilm_l3.onnx"
    if not encoder or not encoder.exists():
        print("minilm_l3.onnx is not there: bench/models/fetch.py FOLDER --only minilm_l3")
        return
    for io in ("arena", "external"):
        measure(given.program, encoder, {}, {"batch_size": (1, 16), "sequence_length": (1, 512)}, io, given.count)


if __name__ == "__main__":
    main()
