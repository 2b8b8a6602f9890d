"""usage: make.py FOLDER [--run]   writes the zoo; --run loads every network in onnxruntime, and runs those that are no
training steps."""

import argparse
import pathlib

import numpy
import onnxruntime

import nas
import sequence
import streamed
import training
import vision


def networks():
    for module in (nas, vision, sequence, streamed, training):
        yield from module.networks()


def check(file, runs):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    if runs:
        types = {"tensor(float)": numpy.float32, "tensor(int64)": numpy.int64}
        feeds = {i.name: numpy.ones(i.shape, types[i.type]) for i in session.get_inputs()}
        session.run(None, feeds)


def main():
    parser = argparse.ArgumentParser(description="Writes the zoo's networks as ONNX files.")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--run", action="store_true", help="load each in onnxruntime; run those that are for inference")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for net in networks():
        net.save(options.folder)
        if options.run:
            check(options.folder / f"{net.name}.onnx", not net.name.endswith("_training"))
        print(net.name, len(net.nodes), flush=True)


if __name__ == "__main__":
    main()
