"""usage: quantized.py STOWAGE [FOLDER]   quantized networks beside onnxruntime: memory, and how far results differ

Makes small networks with random weights, lets onnxruntime quantize them (DequantizeLinear and QuantizeLinear around
each operator), runs them in `stowage run` and in onnxruntime, which joins these operators unless told not to. Prints
the peaks of plans of the float32 and the quantized network, and how many steps of the output results are apart: ours,
and those of onnxruntime's joined operators, both from onnxruntime's real operators."""

import argparse
import json
import pathlib
import subprocess
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnxruntime import quantization


class Net:
    """Collects the operators of a network of images."""

    def __init__(self, name, channels, size, seed):
        self.name, self.random = name, numpy.random.default_rng(seed)
        self.nodes, self.constants, self.shape = [], [], [1, channels, size, size]
        self.input, self.at = list(self.shape), "x"

    def add(self, kind, inputs, **attributes):
        output = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], f"{kind}_{len(self.nodes)}", **attributes))
        self.at = output
        return output

    def constant(self, array):
        self.constants.append(numpy_helper.from_array(array.astype(numpy.float32), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def conv(self, channels, taps=3, stride=1, depthwise=False, limit=None):
        inputs = 1 if depthwise else self.shape[1]
        weights = self.random.normal(0, (2 / (inputs * taps * taps)) ** 0.5, (channels, inputs, taps, taps))
        names = [self.at, self.constant(weights), self.constant(self.random.normal(0, 0.1, channels))]
        self.add("Conv", names, pads=[taps // 2] * 4, strides=[stride] * 2, group=channels if depthwise else 1)
        size = (self.shape[2] + stride - 1) // stride
        self.shape = [1, channels, size, size]
        if limit == "relu":
            self.add("Relu", [self.at])
        if limit == "relu6":
            self.add("Clip", [self.at, self.constant(numpy.array(0)), self.constant(numpy.array(6))])
        return self.at

    def classify(self, classes):
        self.add("GlobalAveragePool", [self.at])
        self.add("Flatten", [self.at])
        weights = self.random.normal(0, 0.3, (classes, self.shape[1]))
        self.add("Gemm", [self.at, self.constant(weights), self.constant(numpy.zeros(classes))], transB=1)
        self.shape = [1, classes]

    def model(self):
        value = lambda name, shape: helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        graph = helper.make_graph(self.nodes, self.name, [value("x", self.input)], [value(self.at, self.shape)],
                                  self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def one_convolution():
    net = Net("one convolution", 8, 16, 1)
    net.conv(16)
    return net


def residual():
    net = Net("residual network", 3, 32, 2)
    net.conv(16, limit="relu")
    net.add("MaxPool", [net.at], kernel_shape=[2, 2], strides=[2, 2])
    net.shape[2:] = [16, 16]
    for channels, stride in ((16, 1), (32, 2), (64, 2)):
        before, shape = net.at, list(net.shape)
        net.conv(channels, stride=stride, limit="relu")
        main = net.conv(channels)
        if channels != shape[1]:
            after = list(net.shape)
            net.at, net.shape = before, shape
            before = net.conv(channels, 1, stride)
            net.shape = after
        net.add("Add", [main, before])
        net.add("Relu", [net.at])
    net.classify(10)
    return net


def separable():
    net = Net("separable network", 3, 48, 3)
    net.conv(8, stride=2, limit="relu6")
    for channels, stride in ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1)):
        net.conv(net.shape[1], stride=stride, depthwise=True, limit="relu6")
        net.conv(channels, 1, limit="relu6")
    net.classify(10)
    return net


def joining():
    net = Net("joining network", 3, 24, 4)
    net.conv(16, limit="relu")
    for _ in range(3):
        before, shape = net.at, list(net.shape)
        net.conv(8, 1, limit="relu")
        wide, squeezed = net.conv(16, limit="relu"), net.shape
        net.add("Concat", [before, wide], axis=1)
        net.shape = [1, shape[1] + squeezed[1], *shape[2:]]
    net.classify(10)
    return net


class Samples(quantization.CalibrationDataReader):
    def __init__(self, shape, count=8):
        random = numpy.random.default_rng(5)
        self.rest = iter([{"x": random.normal(0, 1, shape).astype(numpy.float32)} for _ in range(count)])

    def get_next(self):
        return next(self.rest, None)


def quantize(net, file, activations):
    plain = file.with_suffix(".float.onnx")
    onnx.save(net.model(), plain)
    quantization.quantize_static(plain, file, Samples(net.input), quant_format=quantization.QuantFormat.QDQ,
                                 per_channel=True, activation_type=activations,
                                 weight_type=quantization.QuantType.QInt8)


def stowage(program, *arguments):
    return subprocess.run([program, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def peak_of(program, file, folder):
    plan = folder / "plan.json"
    stowage(program, "plan", file, "--time-limit", 2, "-o", plan)
    return sum(memory["peak"] for memory in json.loads(plan.read_text())["memories"])


def run(program, file, folder, image, output):
    numpy.save(folder / "x.npy", image)
    saved = folder / "output.npy"
    stowage(program, "run", file, "--plan", folder / "plan.json", "--input", f"x={folder / 'x.npy'}", "--save",
            f"{output}={saved}")
    return numpy.load(saved)


def session_of(file, level):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


def step_of_output(file):
    model = onnx.load(file)
    last = next(node for node in model.graph.node if model.graph.output[0].name in node.output)
    scale = next(it for it in model.graph.initializer if it.name == last.input[1])
    return float(numpy_helper.to_array(scale))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stowage")
    parser.add_argument("folder", nargs="?", type=pathlib.Path)
    options = parser.parse_args()
    folder = options.folder or pathlib.Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    print("| network | numbers | peak of float32 | peak | ours apart | at most | onnxruntime's joined | at most |")
    print("|---|---|---|---|---|---|---|---|")
    types = {"uint8": quantization.QuantType.QUInt8, "int8": quantization.QuantType.QInt8}
    levels = onnxruntime.GraphOptimizationLevel
    for make in (one_convolution, residual, separable, joining):
        for name, activations in types.items():
            net = make()
            file = folder / f"{make.__name__}_{name}.onnx"
            quantize(net, file, activations)
            real, joined = session_of(file, levels.ORT_DISABLE_ALL), session_of(file, levels.ORT_ENABLE_ALL)
            peaks = [peak_of(options.stowage, it, folder) for it in (file.with_suffix(".float.onnx"), file)]
            step, apart = step_of_output(file), {"ours": [], "theirs": []}
            for seed in range(5):
                image = numpy.random.default_rng(100 + seed).normal(0, 1, net.input).astype(numpy.float32)
                expected = real.run(None, {"x": image})[0]
                found = {"ours": run(options.stowage, file, folder, image, net.at),
                         "theirs": joined.run(None, {"x": image})[0]}
                for who, result in found.items():
                    apart[who].append(numpy.rint(numpy.abs(result - expected) / step).ravel())
            cells = [f"{100 * numpy.mean(all_of > 0):.2f} % | {int(all_of.max())}"
                     for all_of in (numpy.concatenate(it) for it in apart.values())]
            print(f"| {net.name} | {name} | {peaks[0]} | {peaks[1]} | {cells[0]} | {cells[1]} |", flush=True)


if __name__ == "__main__":
    main()
