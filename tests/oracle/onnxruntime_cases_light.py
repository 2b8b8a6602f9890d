"""The classifiers that come with the ONNX standard. Most of their weights are one number each, made by
ConstantOfShape nodes; here these are random numbers that any runner can make again from the tensor's
name, so that the file need not be written anew.
"""

import os
from functools import partial

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

from onnxruntime_cases_net import SETS, check_outputs, declared, empty_folder, session_for, uniform, write_case

NAMES = ("bvlc_alexnet", "densenet121", "inception_v1", "resnet50", "squeezenet", "vgg19")
SEED = 7
LARGEST_DIFFERENCE_PUBLISHED = 1e-4


def hash_of(name):
    """FNV-1a with 64 bits."""
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def random_weight(name, shape, seed):
    """Element i is number i + 1 of splitmix64, begun at hash(name) xor seed: a matrix or filter within
    sqrt(3 / inputs) of 0, a vector within 0.5 .. 1.5. Sums over the inputs are then as large as these, and
    neither does what residual blocks add grow beyond what a softmax tells apart.
    """
    start = np.uint64(hash_of(name) ^ seed)
    x = np.arange(1, int(np.prod(shape)) + 1, dtype=np.uint64)
    x *= np.uint64(0x9E3779B97F4A7C15)
    x += start
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    r = (x >> np.uint64(40)).astype(np.float64)
    r /= 2.0**24
    if len(shape) < 2:
        r += 0.5
    else:
        r *= 2.0
        r -= 1.0
        r *= np.sqrt(3.0 / np.prod(shape[1:]))
    return r.astype(np.float32).reshape(shape)


def pixels(rng, shape, name):
    """What the nets are made for: most for pixels less their mean, and one for normalised ones."""
    reach = 1.0 if "resnet" in name else 64.0
    return uniform(rng, shape, low=-reach, high=reach)


def make_runnable(model):
    """Initializers need not be inputs: that makes them constants."""
    model.ir_version = max(model.ir_version, 4)
    constants = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in constants]
    del model.graph.input[:]
    model.graph.input.extend(inputs)


def randomize(model, seed):
    """Takes away the weights whose elements are all the same, and returns random ones for them: float
    tensors of more than one element that ConstantOfShape nodes make or the file has.
    """
    stored = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    filled = {name: a for name, a in stored.items() if a.dtype == np.float32 and a.size > 1 and np.ptp(a) == 0}
    weights = {name: random_weight(name, array.shape, seed) for name, array in filled.items()}
    nodes = []
    for node in model.graph.node:
        if node.op_type == "ConstantOfShape":
            value = next(a.t for a in node.attribute if a.name == "value")
            shape = tuple(int(d) for d in stored[node.input[0]])
            if value.data_type == onnx.TensorProto.FLOAT and np.prod(shape) > 1:
                weights[node.output[0]] = random_weight(node.output[0], shape, seed)
                continue
        nodes.append(node)
    kept = [tensor for tensor in model.graph.initializer if tensor.name not in weights]
    for field, items in ((model.graph.node, nodes), (model.graph.initializer, kept)):
        del field[:]
        field.extend(items)
    return weights


def session_with(model, weights):
    """The weights are handed over beside the file: together they may be larger than a file can be."""
    values, external = [], []
    for name, array in weights.items():
        tensor = onnx.TensorProto(name=name, data_type=onnx.TensorProto.FLOAT, dims=array.shape,
                                  data_location=onnx.TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="weights")
        external.append(tensor)
        values.append(onnxruntime.OrtValue.ortvalue_from_numpy(array))
    model.graph.initializer.extend(external)
    return session_for(model.SerializeToString(), dict(zip(weights, values)))


def write_random(out, file, name):
    model = onnx.load(file)
    inputs = [v for v in model.graph.input if v.name not in {t.name for t in model.graph.initializer}]
    make_runnable(model)
    weights = randomize(model, SEED)
    session = session_with(model, weights)
    shapes, result_shapes = declared(inputs), declared(model.graph.output)
    names = [v.name for v in inputs]
    results = [v.name for v in model.graph.output]
    sets = []
    for k in range(SETS):
        rng = np.random.default_rng(1000 + k)
        arrays = [pixels(rng, shape, name) for shape in shapes]
        outputs = session.run(results, dict(zip(names, arrays)))
        check_outputs(name, k, result_shapes, results, outputs)
        sets.append((arrays, outputs))
    write_case(empty_folder(out, name),
               {"model": file, "inputs": names, "outputs": results, "random_weights": SEED}, sets)
    return sets


def ramp(shape):
    """What the standard's test runner gives these models, and what their published outputs are for."""
    count = int(np.prod(shape))
    return (np.arange(count).reshape(shape) / count).astype(np.float32)


def write_published(out, file, name):
    """The file as it is, with the output published beside it. Behind a softmax of equal numbers that
    says little, but it comes from elsewhere."""
    model = onnx.load(file)
    make_runnable(model)
    published = onnx.TensorProto()
    with open(file.removesuffix(".onnx") + "_output_0.pb", "rb") as stream:
        published.ParseFromString(stream.read())
    expected = numpy_helper.to_array(published)
    array = ramp(declared(model.graph.input)[0])
    inputs = [v.name for v in model.graph.input]
    results = [v.name for v in model.graph.output]
    got = session_for(model.SerializeToString()).run(results, {inputs[0]: array})[0]
    difference = np.abs(got - expected).max() / np.abs(expected).max()
    if got.shape != expected.shape or not difference <= LARGEST_DIFFERENCE_PUBLISHED:
        raise ValueError(f"{name}: the published output differs by {difference}")
    write_case(empty_folder(out, name), {"model": file, "inputs": inputs, "outputs": results},
               [([array], [expected])])


def write_light(out, models):
    """`models`: the folder with the light_*.onnx files."""
    for name in NAMES:
        file = os.path.abspath(os.path.join(models, f"light_{name}.onnx"))
        if os.path.exists(file):
            yield f"ort_light_{name}", partial(write_random, out, file, f"ort_light_{name}")
            yield f"ort_published_{name}", partial(write_published, out, file, f"ort_published_{name}")
