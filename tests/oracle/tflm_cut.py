#!/usr/bin/env python3
"""Cuts operators off the end of a TFLite model until its outputs depend on its inputs.

    tflm_cut.py MODEL OUT

Some published models have scrambled weights and give one answer to everything: they show no wrong plan. Needs the
package tflite-micro and flatbuffers.
"""

import pathlib
import sys
import zlib

import flatbuffers
import tflm_arena
from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema


def cut(content, operators):
    model = schema.ModelT.InitFromPackedBuf(content, 0)
    graph = model.subgraphs[0]
    graph.operators = graph.operators[:operators]
    graph.outputs = graph.operators[-1].outputs
    model.signatureDefs = None
    builder = flatbuffers.Builder(len(content) + 4096)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def main():
    content = pathlib.Path(sys.argv[1]).read_bytes()
    seed = zlib.crc32(pathlib.Path(sys.argv[2]).stem.encode())  # as tflm_arena.py has it
    operators = schema.Model.GetRootAs(content).Subgraphs(0).OperatorsLength()
    while operators > 1:
        operators -= max(1, operators // 5)
        smaller = cut(content, operators)
        outputs = tflm_arena.in_child(lambda: tflm_arena.outputs_of(smaller, tflm_arena.ARENA_BYTES, 3, seed))
        if outputs is not None and len(set(outputs)) > 1:
            pathlib.Path(sys.argv[2]).write_bytes(smaller)
            return
    sys.exit("no operator's outputs depend on the inputs")


if __name__ == "__main__":
    main()
