"""Writes the node tests of the ONNX standard, as the installed package makes them, each with its newest operator set.

    onnx_nodes.py OUT

OUT gets a folder for each test: model.onnx, and test_data_set_0 with its inputs and outputs as TensorProtos. Values
that are no tensors (lists, optional values) are left out.
"""
import pathlib
import sys
import warnings

import numpy
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases


def tensor_of(value, name):
    if isinstance(value, onnx.TensorProto):
        return value
    if value is None or isinstance(value, (list, dict)):
        return None
    return numpy_helper.from_array(numpy.asarray(value), name)


def write(case, folder):
    data = folder / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    inputs, outputs = case.data_sets[0]
    graph = case.model.graph
    for kind, values, declared in (("input", inputs, graph.input), ("output", outputs, graph.output)):
        for i, (value, declaration) in enumerate(zip(values, declared)):
            tensor = tensor_of(value, declaration.name)
            if tensor is not None:
                (data / f"{kind}_{i}.pb").write_bytes(tensor.SerializeToString())


def main():
    warnings.simplefilter("ignore")  # tests divide by zero on purpose
    numpy.seterr(all="ignore")
    out = pathlib.Path(sys.argv[1])
    cases = collect_testcases(None)
    for case in cases:
        write(case, out / case.name)
    print(f"{len(cases)} node tests of onnx {onnx.__version__}")


main()
