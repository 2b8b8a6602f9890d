"""Builds a network node by node, and writes what ONNX Runtime computes with it as a case.

A case is a folder with case.json, which names the model and its inputs and outputs, and a folder of
.npy files for each set of inputs.
"""

import json
import os
import shutil

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

SETS = 3


def uniform(rng, shape, dtype=np.float32, low=-1.0, high=1.0):
    """Numbers a network is usually given."""
    if np.issubdtype(dtype, np.floating):
        return rng.uniform(low, high, shape).astype(dtype)
    return rng.integers(int(low), int(high), shape, endpoint=True).astype(dtype)


def integers(low, high, dtype=np.int64):
    """Draws integers from low to high, both included."""
    return lambda rng, shape, k: rng.integers(low, high, shape, endpoint=True).astype(dtype)


def truths(rng, shape, k):
    return rng.integers(0, 2, shape).astype(bool)


def each(*values):
    """Set k is given the k-th value."""
    return lambda rng, shape, k: np.array(values[k]).reshape(shape)


class Net:
    """A graph that grows by one node at a time. Bodies of If and Loop share the names and the random
    numbers of the graph they are in."""

    def __init__(self, name, opset, seed=1, parent=None):
        self.name = name
        self.opset = opset
        self.rng = parent.rng if parent else np.random.default_rng(seed)
        self.names = parent.names if parent else {}
        self.nodes, self.inputs, self.outputs, self.initializers = [], [], [], []
        self.draws = []

    def fresh(self, stem):
        self.names[stem] = self.names.get(stem, 0) + 1
        return f"{stem}_{self.names[stem]}"

    def input(self, name, shape, dtype=np.float32, draw=None):
        """`draw` makes the data of one set from a generator, the shape and the set's index."""
        element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self.inputs.append(helper.make_tensor_value_info(name, element, list(shape)))
        draw = draw or (lambda rng, shape, k: uniform(rng, shape, dtype))
        self.draws.append(lambda rng, k: np.asarray(draw(rng, tuple(shape), k)).astype(dtype))
        return name

    def constant(self, value, dtype=None, stem="constant"):
        name = self.fresh(stem)
        self.initializers.append(numpy_helper.from_array(np.asarray(value, dtype=dtype), name))
        return name

    def ints(self, *values):
        return self.constant(values, np.int64)

    def real(self, value):
        return self.constant(value, np.float32)

    def weight(self, *shape, fan_in=None, dtype=np.float32):
        """Weights that keep activations at about their size."""
        fan_in = fan_in or int(np.prod(shape[1:])) or 1
        return self.constant(self.rng.normal(0, np.sqrt(1.5 / fan_in), shape), dtype, "weight")

    def positive(self, *shape, dtype=np.float32):
        return self.constant(self.rng.uniform(0.5, 1.5, shape), dtype, "scale")

    def small(self, *shape, dtype=np.float32):
        return self.constant(self.rng.uniform(-0.3, 0.3, shape), dtype, "bias")

    def op(self, kind, *inputs, results=1, into=None, **attributes):
        """Adds a node; its result's name, or the names when there are several. An input "" is left out."""
        names = [into] if into else [self.fresh(kind.lower()) for _ in range(results)]
        node = helper.make_node(kind, list(inputs), names, name=self.fresh("node"), **attributes)
        self.nodes.append(node)
        return names[0] if results == 1 else names

    def body(self, name):
        return Net(self.fresh(name), self.opset, parent=self)

    def output(self, value, shape, dtype=np.float32, name=None):
        """Makes a value a result of the network, under a name of its own if one is given."""
        if name:
            value = self.op("Identity", value, into=name)
        element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self.outputs.append(helper.make_tensor_value_info(value, element, list(shape)))

    def graph(self):
        return helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.initializers)

    def model(self):
        ir_version = 8 if self.opset < 19 else 9
        return helper.make_model(self.graph(), opset_imports=[helper.make_opsetid("", self.opset)],
                                 ir_version=ir_version, producer_name="stowage")


def session_for(model, weights=None):
    """Runs nodes as they stand in the file, one after the other. `weights`: data of initializers that the
    model says to be elsewhere."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    if weights:
        options.add_external_initializers(list(weights), list(weights.values()))
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def declared(values):
    return [[d.dim_value for d in value.type.tensor_type.shape.dim] for value in values]


def check_outputs(name, k, expected_shapes, names, arrays):
    """What a case promises: static shapes, and numbers that say something."""
    for output, shape, array in zip(names, expected_shapes, arrays, strict=True):
        if list(array.shape) != shape:
            raise ValueError(f"{name}: {output} has shape {array.shape}, declared {shape}")
        if np.issubdtype(array.dtype, np.floating) and not np.isfinite(array).all():
            raise ValueError(f"{name}: {output} of set {k} is not finite")


def write_case(folder, description, sets):
    """`sets`: of each set the arrays of the inputs and those of the outputs."""
    with open(os.path.join(folder, "case.json"), "w", encoding="utf-8") as file:
        json.dump({"sets": len(sets), "random_weights": None, **description}, file, indent=1)
        file.write("\n")
    for k, arrays_of in enumerate(sets):
        place = os.path.join(folder, f"set_{k}")
        os.makedirs(place)
        for kind, arrays in zip(("input", "output"), arrays_of):
            for i, array in enumerate(arrays):
                np.save(os.path.join(place, f"{kind}_{i}.npy"), np.asarray(array, order="C"))


def empty_folder(out, name):
    folder = os.path.join(out, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder


def write_net(out, net):
    """The case of a network: its file, and what ONNX Runtime makes of random inputs."""
    model = net.model()
    onnx.checker.check_model(model)
    folder = empty_folder(out, net.name)
    onnx.save(model, os.path.join(folder, "model.onnx"))
    session = session_for(model.SerializeToString())
    names = [value.name for value in model.graph.input]
    results = [value.name for value in model.graph.output]
    shapes = declared(model.graph.output)
    sets = []
    for k in range(SETS):
        rng = np.random.default_rng(1000 + k)
        arrays = [draw(rng, k) for draw in net.draws]
        outputs = session.run(results, dict(zip(names, arrays)))
        check_outputs(net.name, k, shapes, results, outputs)
        sets.append((arrays, outputs))
    if all(np.array_equal(a, b) for a, b in zip(sets[0][1], sets[1][1])):
        raise ValueError(f"{net.name}: the outputs do not depend on the inputs")
    write_case(folder, {"model": "model.onnx", "inputs": names, "outputs": results}, sets)
