"""usage: make.py FOLDER [--run]   writes the zoo; --run loads every network in onnxruntime, and runs those that are no
training steps."""

import pathlib
import sys

import numpy
import onnxruntime

import nas
import sequence
import training
import vision


def networks():
    for module in (nas, vision, sequence, training):
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
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for net in networks():
        net.save(folder)
        if "--run" in sys.argv:
            check(folder / f"{net.name}.onnx", not net.name.endswith("_training"))
        print(net.name, len(net.nodes), flush=True)


if __name__ == "__main__":
    main()
