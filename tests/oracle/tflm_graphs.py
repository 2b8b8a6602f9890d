#!/usr/bin/env python3
"""Random TFLite models with every operator that asks TensorFlow Lite Micro for scratch memory.

    tflm_graphs.py OUT_DIR COUNT [SEED]

Writes OUT_DIR/graph_<n>.tflite: operators on images in random branches, among them reductions, ADD_N, MIRROR_PAD,
TRANSPOSE_CONV, SVDF, LSTM and transforms; weights that may be compressed or of half a byte; IF and WHILE with bodies;
variables and resource variables. Needs flatbuffers, numpy and the schema of the package tflite-micro.
"""

import pathlib
import sys

import flatbuffers
import numpy as np
from flatbuffers import flexbuffers
from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema

F, I8, I4, I16, I32, BOOL, RESOURCE = (
    schema.TensorType.FLOAT32, schema.TensorType.INT8, schema.TensorType.INT4, schema.TensorType.INT16,
    schema.TensorType.INT32, schema.TensorType.BOOL, schema.TensorType.RESOURCE)
DTYPES = {F: np.float32, I8: np.int8, I4: np.int8, I16: np.int16, I32: np.int32, BOOL: np.bool_}


class Model:
    """A model that grows by tensors, operators and subgraphs."""

    def __init__(self, generator):
        self.random = generator
        self.model = schema.ModelT()
        self.model.version, self.model.subgraphs, self.model.buffers = 3, [], [schema.BufferT()]
        self.model.operatorCodes, self.model.metadata = [], []
        self.codes, self.compressed = {}, []

    def chance(self, probability):
        return self.random.random() < probability

    def pick(self, values):
        return values[self.random.integers(len(values))]

    def subgraph(self):
        graph = schema.SubGraphT()
        graph.tensors, graph.operators, graph.inputs, graph.outputs = [], [], [], []
        self.model.subgraphs.append(graph)
        self.compressed.append([])
        return Subgraph(self, graph, len(self.model.subgraphs) - 1)

    def buffer(self, data):
        buffer = schema.BufferT()
        buffer.data = np.frombuffer(bytes(data), np.uint8)
        self.model.buffers.append(buffer)
        return len(self.model.buffers) - 1

    def code(self, name):
        if name not in self.codes:
            code = schema.OperatorCodeT()
            builtin = getattr(schema.BuiltinOperator, name, None)
            if builtin is None:
                code.customCode, builtin = name, schema.BuiltinOperator.CUSTOM
            code.builtinCode, code.deprecatedBuiltinCode, code.version = builtin, min(builtin, 127), 1
            self.codes[name] = len(self.model.operatorCodes)
            self.model.operatorCodes.append(code)
        return self.codes[name]

    def compression(self):
        """The metadata of compressed weights."""
        if not any(self.compressed):
            return
        builder = flatbuffers.Builder(256)
        subgraphs = []
        last = max(s for s, tensors in enumerate(self.compressed) if tensors)
        for tensors in self.compressed[:last + 1]:
            tables = []
            for tensor, values, bits in tensors:
                builder.StartObject(3)
                builder.PrependInt32Slot(0, tensor, 0)
                builder.PrependUint32Slot(1, values, 0)
                builder.PrependUint8Slot(2, bits, 0)
                tables.append(builder.EndObject())
            builder.StartVector(4, len(tables), 4)
            for table in reversed(tables):
                builder.PrependUOffsetTRelative(table)
            vector = builder.EndVector()
            builder.StartObject(1)
            builder.PrependUOffsetTRelativeSlot(0, vector, 0)
            subgraphs.append(builder.EndObject())
        builder.StartVector(4, len(subgraphs), 4)
        for table in reversed(subgraphs):
            builder.PrependUOffsetTRelative(table)
        vector = builder.EndVector()
        builder.StartObject(2)
        builder.PrependUint32Slot(0, 1, 0)
        builder.PrependUOffsetTRelativeSlot(1, vector, 0)
        builder.Finish(builder.EndObject())
        entry = schema.MetadataT()
        entry.name, entry.buffer = "COMPRESSION_METADATA", self.buffer(builder.Output())
        self.model.metadata.append(entry)

    def content(self):
        self.compression()
        builder = flatbuffers.Builder(4096)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


class Subgraph:
    def __init__(self, model, graph, index):
        self.model, self.graph, self.index = model, graph, index

    def tensor(self, shape, kind=I8, data=None, scale=None, zero=0, axis=0, variable=False):
        result = schema.TensorT()
        result.name, result.shape, result.type = f"t{len(self.graph.tensors)}", [int(n) for n in shape], kind
        result.isVariable = variable
        if data is not None:
            values = np.asarray(data, DTYPES[kind]).reshape(-1)
            if kind == I4:
                padded = np.append(values, np.zeros(len(values) % 2, np.int8)) & 15
                values = (padded[::2] | (padded[1::2] << 4)).astype(np.uint8)
            result.buffer = self.model.buffer(values.tobytes())
        if scale is None and kind in (I8, I16):
            scale = 0.05 if kind == I8 else 0.001
        if scale is not None:
            quantization = schema.QuantizationParametersT()
            quantization.scale = np.atleast_1d(np.array(scale, np.float32))
            quantization.zeroPoint = np.full(len(quantization.scale), zero, np.int64)
            quantization.quantizedDimension = axis
            result.quantization = quantization
        self.graph.tensors.append(result)
        return len(self.graph.tensors) - 1

    def shape(self, tensor):
        return list(self.graph.tensors[tensor].shape)

    def kind(self, tensor):
        return self.graph.tensors[tensor].type

    def constant(self, values):
        values = np.array(values, np.int32)
        return self.tensor(values.shape, I32, values)

    def add(self, name, inputs, outputs, options=None, custom=None, **fields):
        op = schema.OperatorT()
        op.opcodeIndex, op.inputs, op.outputs = self.model.code(name), list(inputs), list(outputs)
        if options:
            op.builtinOptionsType = getattr(schema.BuiltinOptions, options)
            op.builtinOptions = getattr(schema, options + "T")()
            for field, value in fields.items():
                setattr(op.builtinOptions, field, value)
        if custom is not None:
            op.customOptions = np.frombuffer(bytes(flexbuffers.Dumps(custom)), np.uint8)
        self.graph.operators.append(op)
        return outputs[0] if outputs else None

    def like(self, tensor, shape=None, kind=None, **more):
        return self.tensor(self.shape(tensor) if shape is None else shape, self.kind(tensor) if kind is None else kind,
                           **more)

    def weights(self, shape, channels, axis=0, may_be_small=True):
        """Of 8 bits, or of 4, or compressed."""
        random = self.model.random
        scale = np.linspace(0.01, 0.02, channels)
        if may_be_small and self.model.chance(0.2):
            return self.tensor(shape, I4, random.integers(-7, 8, shape), scale, 0, axis)
        # The runtime expects compressed weights in all subgraphs before one with some.
        if self.index == 0 and self.model.chance(0.25) and channels > 1 and axis in (0, len(shape) - 1):
            bits = int(random.integers(1, 8))
            values = random.integers(-60, 60, (channels, 1 << bits)).astype(np.int8)
            count = int(np.prod(shape))
            indices = random.integers(0, 1 << bits, count)
            packed = np.packbits(((indices[:, None] >> np.arange(bits)[::-1]) & 1).astype(np.uint8).reshape(-1))
            tensor = self.tensor(shape, I8, None, scale, 0, axis)
            self.graph.tensors[tensor].buffer = self.model.buffer(packed.tobytes())
            self.model.compressed[self.index].append((tensor, self.model.buffer(values.tobytes()), bits))
            return tensor
        return self.tensor(shape, I8, random.integers(-60, 60, shape), scale, 0, axis)

    def plain(self, tensor):
        """The same with the scale that most have, which some operators expect to be that of their input."""
        quantization = self.graph.tensors[tensor].quantization
        if quantization.scale[0] == np.float32(0.05) and quantization.zeroPoint[0] == 0:
            return tensor
        return self.add("QUANTIZE", [tensor], [self.tensor(self.shape(tensor))], "QuantizeOptions")

    def bias(self, count):
        return self.tensor([count], I32, self.model.random.integers(-200, 200, count), np.full(count, 0.0005))


def conv(g, x):
    n, h, w, c = g.shape(x)
    stride, channels = g.model.pick([1, 1, 2]), int(g.model.random.integers(2, 9))
    kernel = g.model.pick([1, 3])
    y = g.tensor([n, -(-h // stride), -(-w // stride), channels], I8, scale=0.05)
    return g.add("CONV_2D", [x, g.weights([channels, kernel, kernel, c], channels), g.bias(channels)], [y],
                 "Conv2DOptions", strideW=stride, strideH=stride)


def depthwise(g, x):
    n, h, w, c = g.shape(x)
    return g.add("DEPTHWISE_CONV_2D", [x, g.weights([1, 3, 3, c], c, 3), g.bias(c)], [g.like(x)],
                 "DepthwiseConv2DOptions", strideW=1, strideH=1, depthMultiplier=1)


def transpose_conv(g, x):
    n, h, w, c = g.shape(x)
    channels = int(g.model.random.integers(2, 5))
    y = g.tensor([n, h * 2, w * 2, channels], I8)
    weights = g.weights([channels, 2, 2, c], channels, 0, False)
    g.add("TRANSPOSE_CONV", [g.constant(g.shape(y)), weights, x, g.bias(channels)], [y], "TransposeConvOptions",
          strideW=2, strideH=2)
    return g.add("MAX_POOL_2D", [y], [g.tensor([n, h, w, channels])], "Pool2DOptions", strideW=2, strideH=2,
                 filterWidth=2, filterHeight=2, padding=1)


def mirror_pad(g, x):
    n, h, w, c = g.shape(x)
    y = g.tensor([n, h + 2, w + 2, c])
    g.add("MIRROR_PAD", [x, g.constant([[0, 0], [1, 1], [1, 1], [0, 0]])], [y], "MirrorPadOptions",
          mode=g.model.pick([0, 1]) if min(h, w) > 1 else 1)
    return g.add("AVERAGE_POOL_2D", [y], [g.like(x)], "Pool2DOptions", strideW=1, strideH=1, filterWidth=3,
                 filterHeight=3, padding=1)


def reduction(g, x):
    n, h, w, c = g.shape(x)
    name = g.model.pick(["MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"])
    axes = g.model.pick([[1, 2], [3], [2]])
    kept = [1 if d in axes else size for d, size in enumerate([n, h, w, c])]
    y = g.tensor(kept)
    g.add(name, [x, g.constant(axes)], [y], "ReducerOptions", keepDims=True)
    return g.add("ADD", [x, y], [g.like(x)], "AddOptions")


def add_n(g, x):
    others = [g.add("ADD", [x, x], [g.like(x)], "AddOptions") for _ in range(g.model.random.integers(1, 4))]
    y = g.like(x, kind=F)
    floats = [g.add("DEQUANTIZE", [it], [g.like(it, kind=F)], "DequantizeOptions") for it in [x, *others]]
    g.add("ADD_N", floats, [y], "AddNOptions")
    return g.add("QUANTIZE", [y], [g.like(x)], "QuantizeOptions")


def add_n_int8(g, x):
    others = [g.add("MUL", [x, x], [g.like(x)], "MulOptions") for _ in range(g.model.random.integers(1, 4))]
    return g.add("ADD_N", [x, *others], [g.like(x)], "AddNOptions")


def concatenation(g, x):
    n, h, w, c = g.shape(x)
    other = g.add("RELU", [x], [g.like(x)])
    return g.add("CONCATENATION", [x, other], [g.tensor([n, h, w, 2 * c])], "ConcatenationOptions", axis=3)


def dense(g, x):
    n, h, w, c = g.shape(x)
    flat = g.add("RESHAPE", [x, g.constant([n * h * w, c])], [g.tensor([n * h * w, c])], "ReshapeOptions")
    y = g.tensor([n * h * w, c])
    # Weights of half a byte have one scale for all channels here.
    weights = g.tensor([c, c], I8, g.model.random.integers(-60, 60, [c, c]), 0.01) if g.model.chance(
        0.5) else g.weights([c, c], c, 0, False)
    g.add("FULLY_CONNECTED", [flat, weights, g.bias(c)], [y], "FullyConnectedOptions")
    return g.add("RESHAPE", [y, g.constant([n, h, w, c])], [g.tensor([n, h, w, c])], "ReshapeOptions")


def batch_matmul(g, x):
    n, h, w, c = g.shape(x)
    left = g.add("RESHAPE", [x, g.constant([h, w, c])], [g.tensor([h, w, c])], "ReshapeOptions")
    y = g.tensor([h, w, w])
    g.add("BATCH_MATMUL", [left, left], [y], "BatchMatMulOptions", adjX=False, adjY=True)
    z = g.tensor([h, w, c])
    g.add("BATCH_MATMUL", [y, left], [z], "BatchMatMulOptions", adjX=g.model.chance(0.5), adjY=False)
    return g.add("RESHAPE", [z, g.constant([n, h, w, c])], [g.tensor([n, h, w, c])], "ReshapeOptions")


def comparison(g, x):
    flags = g.add("GREATER", [x, g.tensor([1], I8, [3])], [g.like(x, kind=BOOL)], "GreaterOptions")
    one = g.tensor([1], BOOL)
    g.add("REDUCE_ALL", [flags, g.constant([0, 1, 2, 3])], [one], "ReducerOptions", keepDims=False)
    other = g.add("RELU", [x], [g.like(x)])
    return g.add("SELECT_V2", [flags, x, other], [g.like(x)], "SelectV2Options")


def svdf(g, x):
    n, h, w, c = g.shape(x)
    features, rank, memory = h * w * c, int(g.model.random.integers(1, 3)), 4
    units = int(g.model.random.integers(2, 5))
    filters = units * rank
    flat = g.add("RESHAPE", [x, g.constant([1, features])], [g.tensor([1, features])], "ReshapeOptions")
    random = g.model.random
    y = g.tensor([1, units], I8, scale=0.3)
    g.add("SVDF", [
        flat, g.tensor([filters, features], I8, random.integers(-60, 60, [filters, features]), 0.01),
        g.tensor([filters, memory], I16, random.integers(-600, 600, [filters, memory]), 0.001),
        g.tensor([units], I32, random.integers(-200, 200, units), 0.001 * 0.02),
        g.tensor([1, filters * memory], I16, None, 0.02, 0, 0, True)
    ], [y], "SVDFOptions", rank=rank, fusedActivationFunction=1)
    spread = g.add("RESHAPE", [y, g.constant([1, 1, 1, units])], [g.tensor([1, 1, 1, units], scale=0.3)],
                   "ReshapeOptions")
    part = g.add("SLICE", [spread, g.constant([0, 0, 0, 0]), g.constant([1, 1, 1, 1])],
                 [g.tensor([1, 1, 1, 1], scale=0.3)], "SliceOptions")
    return g.add("ADD", [x, part], [g.like(x)], "AddOptions")


def lstm(g, x):
    n, h, w, c = g.shape(x)
    hidden, random = 3, g.model.random
    floats = g.add("DEQUANTIZE", [x], [g.like(x, kind=F)], "DequantizeOptions")
    sequence = g.add("RESHAPE", [floats, g.constant([h, w, c])], [g.tensor([h, w, c], F)], "ReshapeOptions")

    def matrix(*shape):
        return g.tensor(shape, F, random.uniform(-0.5, 0.5, shape))

    inputs = [sequence] + [matrix(hidden, c) for _ in range(4)] + [matrix(hidden, hidden) for _ in range(4)]
    inputs += [-1] * 3 + [matrix(hidden) for _ in range(4)] + [-1] * 2
    inputs += [g.tensor([h, hidden], F, variable=True), g.tensor([h, hidden], F, variable=True)] + [-1] * 4
    y = g.add("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, [g.tensor([h, w, hidden], F)],
              "UnidirectionalSequenceLSTMOptions", fusedActivationFunction=4)
    image = g.add("RESHAPE", [y, g.constant([n, h, w, hidden])], [g.tensor([n, h, w, hidden], F)], "ReshapeOptions")
    return g.add("QUANTIZE", [image], [g.tensor([n, h, w, hidden])], "QuantizeOptions")


def transform(g, x):
    length = int(g.model.pick([16, 32]))
    n, h, w, c = g.shape(x)
    flat = g.add("RESHAPE", [x, g.constant([h * w * c])], [g.tensor([h * w * c])], "ReshapeOptions")
    size = min(length, h * w * c)
    part = g.add("SLICE", [flat, g.constant([0]), g.constant([size])], [g.tensor([size])], "SliceOptions")
    wide = g.add("CAST", [part], [g.tensor([size], I16, scale=0.05)], "CastOptions", inDataType=I8, outDataType=I16)
    bins = g.tensor([length // 2 * 2 + 2], I16)
    g.add("SignalRfft", [wide], [bins], custom={"T": I16, "fft_length": length})
    top = g.add("SLICE", [bins, g.constant([0]), g.constant([1])], [g.tensor([1], I16)],
                "SliceOptions")
    narrow = g.add("CAST", [top], [g.tensor([1])], "CastOptions", inDataType=I16, outDataType=I8)
    return g.add("ADD", [x, narrow], [g.like(x)], "AddOptions")


def softmax(g, x):
    n, h, w, c = g.shape(x)
    return g.add("SOFTMAX", [x], [g.tensor([n, h, w, c], scale=1 / 256, zero=-128)], "SoftmaxOptions", beta=1.0)


def simple(g, x):
    name = g.model.pick(["RELU", "RELU6", "LOGISTIC", "TANH", "HARD_SWISH", "LEAKY_RELU", "ELU"])
    options = {"LEAKY_RELU": "LeakyReluOptions"}.get(name)
    scale, zero = {"LOGISTIC": (1 / 256, -128), "TANH": (1 / 128, 0)}.get(name, (0.05, 0))
    return g.add(name, [x], [g.tensor(g.shape(x), scale=scale, zero=zero)], options)


def conditional(g, x):
    """IF on whether the first element is positive; both bodies have operators that ask for scratch."""
    n, h, w, c = g.shape(x)
    first = g.add("SLICE", [x, g.constant([0, 0, 0, 0]), g.constant([1, 1, 1, 1])], [g.tensor([1, 1, 1, 1])],
                  "SliceOptions")
    flag = g.add("GREATER", [first, g.tensor([1], I8, [0])], [g.tensor([1, 1, 1, 1], BOOL)], "GreaterOptions")
    condition = g.add("RESHAPE", [flag, g.constant([1])], [g.tensor([1], BOOL)], "ReshapeOptions")
    bodies = []
    for _ in range(2):
        body = g.model.subgraph()
        inside = body.tensor([n, h, w, c])
        body.graph.inputs = [inside]
        result = inside
        for _ in range(g.model.random.integers(1, 3)):
            result = body.plain(g.model.pick([reduction, add_n, depthwise, simple, mirror_pad])(body, result))
        result = body.add("ADD", [result, inside], [body.tensor([n, h, w, c])], "AddOptions")
        body.graph.outputs = [result]
        bodies.append(body.index)
    return g.add("IF", [condition, x], [g.like(x)], "IfOptions", thenSubgraphIndex=bodies[0],
                 elseSubgraphIndex=bodies[1])


def loop(g, x):
    """WHILE that adds one to a counter, until it is three."""
    n, h, w, c = g.shape(x)
    condition, body = g.model.subgraph(), g.model.subgraph()
    for part in (condition, body):
        part.graph.inputs = [part.tensor([1], I32), part.tensor([n, h, w, c])]
    condition.graph.outputs = [
        condition.add("LESS", [condition.graph.inputs[0], condition.constant([3])], [condition.tensor([1], BOOL)],
                      "LessOptions")
    ]
    counter = body.add("ADD", [body.graph.inputs[0], body.constant([1])], [body.tensor([1], I32)], "AddOptions")
    image = body.add("ADD", [reduction(body, body.graph.inputs[1]), body.graph.inputs[1]],
                     [body.tensor([n, h, w, c])], "AddOptions")
    body.graph.outputs = [counter, image]
    start = g.add("SHAPE", [g.add("RESHAPE", [x, g.constant([n * h * w * c])], [g.tensor([n * h * w * c])],
                                  "ReshapeOptions")], [g.tensor([1], I32)], "ShapeOptions", outType=I32)
    zero = g.add("SUB", [start, start], [g.tensor([1], I32)], "SubOptions")
    outputs = [g.tensor([1], I32), g.like(x)]
    g.add("WHILE", [zero, x], outputs, "WhileOptions", condSubgraphIndex=condition.index,
          bodySubgraphIndex=body.index)
    return outputs[1]


def resource(g, x):
    """A resource variable that is assigned once, and read and assigned at each run."""
    name = f"v{len(g.model.model.operatorCodes)}_{len(g.graph.tensors)}"
    once = g.model.subgraph()

    def handle(part):
        return part.add("VAR_HANDLE", [], [part.tensor([], RESOURCE)], "VarHandleOptions", container="",
                        sharedName=name)

    n, h, w, c = g.shape(x)
    once.add("ASSIGN_VARIABLE", [handle(once), once.tensor([n, h, w, c], I8, np.full([n, h, w, c], 7))], [],
             "AssignVariableOptions")
    g.add("CALL_ONCE", [], [], "CallOnceOptions", initSubgraphIndex=once.index)
    own = handle(g)
    old = g.add("READ_VARIABLE", [own], [g.like(x)], "ReadVariableOptions")
    y = g.add("ADD", [x, old], [g.like(x)], "AddOptions")
    g.add("ASSIGN_VARIABLE", [own, y], [], "AssignVariableOptions")
    return y


STEPS = [conv, conv, depthwise, transpose_conv, mirror_pad, reduction, reduction, add_n, add_n_int8, concatenation, dense,
         batch_matmul, comparison, svdf, lstm, transform, softmax, simple, simple, conditional, loop, resource]


def random_graph(seed):
    model = Model(np.random.default_rng(seed))
    main = model.subgraph()
    shape = [1, int(model.random.integers(3, 9)), int(model.random.integers(3, 9)), int(model.random.integers(2, 7))]
    x = main.tensor(shape)
    main.graph.inputs = [x]
    ends = [x]
    for _ in range(model.random.integers(2, 12)):
        source = model.pick(ends[-3:])
        if main.shape(source)[3] > 24:
            continue
        ends.append(main.plain(model.pick(STEPS)(main, source)))
    # Everything that nothing reads is added up, so that branches last to the end.
    read = {i for op in main.graph.operators for i in op.inputs}
    total = main.add("MEAN", [x, main.constant([1, 2, 3])], [main.tensor([1, 1, 1, 1])], "ReducerOptions",
                     keepDims=True)
    for end in [end for end in ends if end not in read]:
        one = main.add("MEAN", [end, main.constant([1, 2, 3])], [main.tensor([1, 1, 1, 1])], "ReducerOptions",
                       keepDims=True)
        total = main.add("ADD", [total, one], [main.tensor([1, 1, 1, 1])], "AddOptions")
    main.graph.outputs = [total, ends[-1]] if ends[-1] != x else [total]
    return model.content()


def main():
    directory, count = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    directory.mkdir(parents=True, exist_ok=True)
    for seed in range(first, first + count):
        (directory / f"graph_{seed:04}.tflite").write_bytes(random_graph(seed))


if __name__ == "__main__":
    main()
