"""Small TFLite models of one operator each, for comparing kernels that no real model uses."""

import flatbuffers
import numpy as np
from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema

TYPES = {
    "f": (schema.TensorType.FLOAT32, np.float32),
    "i8": (schema.TensorType.INT8, np.int8),
    "i16": (schema.TensorType.INT16, np.int16),
    "i32": (schema.TensorType.INT32, np.int32),
    "i64": (schema.TensorType.INT64, np.int64),
    "b": (schema.TensorType.BOOL, np.bool_),
}


def tensor(kind, shape, scale=None, zero_point=0, data=None, axis=0):
    """What a tensor is; with data it is constant. Scales of several channels come as a list."""
    return {"kind": kind, "shape": list(shape), "scale": scale, "zero": zero_point, "data": data, "axis": axis}


def f(shape, data=None):
    return tensor("f", shape, data=data)


def q(shape, scale=0.05, zero_point=3, data=None, axis=0):
    return tensor("i8", shape, scale, zero_point, data, axis)


def ints(values):
    values = np.array(values, np.int32)
    return tensor("i32", values.shape, data=values)


def add_tensor(model, graph, spec, name):
    kind, dtype = TYPES[spec["kind"]]
    result = schema.TensorT()
    result.name, result.shape, result.type = name, spec["shape"], kind
    if spec["data"] is not None:
        buffer = schema.BufferT()
        buffer.data = np.frombuffer(np.asarray(spec["data"], dtype).tobytes(), np.uint8)
        model.buffers.append(buffer)
        result.buffer = len(model.buffers) - 1
    if spec["scale"] is not None:
        scales = np.atleast_1d(np.array(spec["scale"], np.float32))
        quantization = schema.QuantizationParametersT()
        quantization.scale = scales
        quantization.zeroPoint = np.full(len(scales), spec["zero"], np.int64)
        quantization.quantizedDimension = spec["axis"]
        result.quantization = quantization
    graph.tensors.append(result)
    return len(graph.tensors) - 1


def make_model(operator, inputs, outputs, options=None, **fields):
    """The bytes of a model of one operator; `options` is the name of its option table."""
    model, graph = schema.ModelT(), schema.SubGraphT()
    model.version, model.subgraphs, model.buffers = 3, [graph], [schema.BufferT()]
    graph.tensors = []
    op, code = schema.OperatorT(), schema.OperatorCodeT()
    code.builtinCode = getattr(schema.BuiltinOperator, operator)
    code.deprecatedBuiltinCode = min(code.builtinCode, 127)
    code.version = 1
    op.inputs = [add_tensor(model, graph, spec, f"in{i}") for i, spec in enumerate(inputs)]
    op.outputs = [add_tensor(model, graph, spec, f"out{i}") for i, spec in enumerate(outputs)]
    if options:
        op.builtinOptionsType = getattr(schema.BuiltinOptions, options)
        op.builtinOptions = getattr(schema, options + "T")()
        for name, value in fields.items():
            setattr(op.builtinOptions, name, value)
    graph.inputs = [op.inputs[i] for i, spec in enumerate(inputs) if spec["data"] is None]
    graph.outputs, graph.operators, model.operatorCodes = op.outputs, [op], [code]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def arithmetic():
    wide = [2, 3, 4, 5]
    for name, options in (("ADD", "AddOptions"), ("SUB", "SubOptions"), ("MUL", "MulOptions")):
        for activation in range(4):
            yield name, [q(wide, 0.03, -5), q(wide, 0.07, 9)], [q(wide, 0.05, 1)], options, {
                "fusedActivationFunction": activation}
        yield name, [q(wide, 0.03, -5), q([4, 1], 0.007, 90)], [q(wide, 0.04, 11)], options, {}
        yield name, [q([1], 0.3, -5), q(wide, 0.03, 0)], [q(wide, 0.2, 1)], options, {}
        yield name, [f(wide), f([3, 1, 5])], [f(wide)], options, {"fusedActivationFunction": 3}
        yield name, [tensor("i16", wide, 0.001), tensor("i16", wide, 0.002)], [
            tensor("i16", wide, 0.003)], options, {}
    yield "DIV", [f(wide), f(wide)], [f(wide)], "DivOptions", {}
    for name in ("MAXIMUM", "MINIMUM"):
        yield name, [q(wide), q([4, 1])], [q(wide)], "MaximumMinimumOptions", {}
    yield "SQUARED_DIFFERENCE", [q(wide, 0.03, -5), q(wide, 0.04, 9)], [q(wide, 0.1, -128)], None, {}
    yield "SQUARED_DIFFERENCE", [q(wide, 0.03, -5), q([5], 0.04, 9)], [q(wide, 0.02, -100)], None, {}
    yield "PRELU", [q(wide, 0.03, -5), q([1, 1, 5], 0.01, 3)], [q(wide, 0.04, 9)], None, {}
    yield "PRELU", [f(wide), f([1, 1, 5])], [f(wide)], None, {}
    for name in ("FLOOR_DIV", "FLOOR_MOD"):
        yield name, [f(wide), f(wide)], [f(wide)], None, {}
    for name in ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL"):
        yield name, [q(wide, 0.03, -5), q(wide, 0.05, 9)], [tensor("b", wide)], None, {}
        yield name, [q(wide, 0.5, 0), q(wide, 0.5, 0)], [tensor("b", wide)], None, {}
        yield name, [f(wide), f(wide)], [tensor("b", wide)], None, {}
    for name in ("LOGICAL_AND", "LOGICAL_OR"):
        yield name, [tensor("b", wide), tensor("b", wide)], [tensor("b", wide)], None, {}
    yield "SELECT_V2", [tensor("b", wide), q(wide), q([5])], [q(wide)], None, {}


def activations():
    shape = [2, 300]
    for scale, zero in ((0.01, 0), (0.05, -20), (0.3, 100), (0.0001, -128), (1.5, 7)):
        yield "LOGISTIC", [q(shape, scale, zero)], [q(shape, 1 / 256, -128)], None, {}
        yield "TANH", [q(shape, scale, zero)], [q(shape, 1 / 128, 0)], None, {}
        yield "LEAKY_RELU", [q(shape, scale, zero)], [q(shape, scale * 0.7, 5)], "LeakyReluOptions", {"alpha": 0.2}
        yield "LEAKY_RELU", [q(shape, scale, zero)], [q(shape, scale, zero)], "LeakyReluOptions", {"alpha": -1.3}
        yield "HARD_SWISH", [q(shape, scale, zero)], [q(shape, scale * 0.8, -9)], None, {}
        yield "RELU", [q(shape, scale, zero)], [q(shape, scale * 0.6, -100)], None, {}
        yield "RELU6", [q(shape, scale, zero)], [q(shape, scale, zero)], None, {}
        yield "ELU", [q(shape, scale, zero)], [q(shape, scale * 0.9, -3)], None, {}
        yield "ABS", [q(shape, scale, zero)], [q(shape, scale * 1.1, -128)], None, {}
    for length in (2, 10, 300):
        for scale, beta in ((0.1, 1.0), (0.02, 1.0), (0.5, 0.3), (3.0, 1.0)):
            yield "SOFTMAX", [q([3, length], scale, 4)], [q([3, length], 1 / 256, -128)], "SoftmaxOptions", {
                "beta": beta}
            yield "SOFTMAX", [q([3, length], scale, 4)], [
                tensor("i16", [3, length], 1 / 65536, -32768)], "SoftmaxOptions", {"beta": beta}
    for name in ("LOGISTIC", "TANH", "HARD_SWISH", "RELU", "RELU6", "ELU", "ABS", "SIN", "COS", "EXP", "NEG",
                 "FLOOR", "CEIL", "ROUND", "SQUARE"):
        yield name, [f(shape)], [f(shape)], None, {}
    yield "SOFTMAX", [f([3, 7])], [f([3, 7])], "SoftmaxOptions", {"beta": 0.5}
    yield "L2_NORMALIZATION", [q([3, 40], 0.03, -7)], [q([3, 40], 1 / 128, 0)], "L2NormOptions", {}
    yield "L2_NORMALIZATION", [f([3, 40])], [f([3, 40])], "L2NormOptions", {}


def layers(generator):
    def weights(shape):
        return generator.integers(-127, 128, shape)

    def bias(count):
        return tensor("i32", [count], 0.001, data=generator.integers(-2000, 2000, count))

    for padding in (0, 1):
        for stride, dilation in ((1, 1), (2, 1), (1, 2)):
            size = -(-9 // stride) if padding == 0 else (9 - 2 * dilation - 1) // stride + 1
            fields = {"padding": padding, "strideW": stride, "strideH": stride, "dilationWFactor": dilation,
                      "dilationHFactor": dilation, "fusedActivationFunction": 3}
            scales = [0.01, 0.004, 0.02, 0.0001, 0.01, 0.003]
            yield "CONV_2D", [q([2, 9, 9, 4]), q([6, 3, 3, 4], scales, 0, weights([6, 3, 3, 4])), bias(6)], [
                q([2, size, size, 6], 0.09, -20)], "Conv2DOptions", fields
            yield "CONV_2D", [q([2, 9, 9, 4]), q([6, 3, 3, 2], scales, 0, weights([6, 3, 3, 2])), bias(6)], [
                q([2, size, size, 6], 0.09, -20)], "Conv2DOptions", fields
            yield "CONV_2D", [f([1, 9, 9, 4]), f([6, 3, 3, 4], weights([6, 3, 3, 4]) / 100),
                              f([6], weights([6]) / 10)], [f([1, size, size, 6])], "Conv2DOptions", fields
            yield "DEPTHWISE_CONV_2D", [q([2, 9, 9, 3]), q([1, 3, 3, 6], scales, 0, weights([1, 3, 3, 6]), 3),
                                        bias(6)], [q([2, size, size, 6], 0.05, -20)], "DepthwiseConv2DOptions", {
                                            **fields, "depthMultiplier": 2}
            if dilation == 1:
                pool = {"padding": padding, "strideW": stride, "strideH": stride, "filterWidth": 3,
                        "filterHeight": 3}
                for name in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
                    yield name, [q([2, 9, 9, 3])], [q([2, size, size, 3])], "Pool2DOptions", pool
                    yield name, [f([2, 9, 9, 3])], [f([2, size, size, 3])], "Pool2DOptions", pool
                transposed = {"padding": padding, "strideW": stride, "strideH": stride}
                big = 5 * stride if padding == 0 else 4 * stride + 3
                shape = ints([2, big, big, 6])
                yield "TRANSPOSE_CONV", [shape, q([6, 3, 3, 4], scales, 0, weights([6, 3, 3, 4])), q([2, 5, 5, 4]),
                                         bias(6)], [q([2, big, big, 6], 0.1, 3)], "TransposeConvOptions", transposed
                yield "TRANSPOSE_CONV", [shape, f([6, 3, 3, 4], weights([6, 3, 3, 4]) / 100), f([2, 5, 5, 4])], [
                    f([2, big, big, 6])], "TransposeConvOptions", transposed
    yield "FULLY_CONNECTED", [q([3, 20]), q([7, 20], 0.01, 0, weights([7, 20])), bias(7)], [
        q([3, 7], 0.1, 5)], "FullyConnectedOptions", {"fusedActivationFunction": 1}
    yield "FULLY_CONNECTED", [q([3, 20]), q([3, 20], [0.01, 0.002, 0.03], 0, weights([3, 20]))], [
        q([3, 3], 0.1, 5)], "FullyConnectedOptions", {}
    for adj_x in (False, True):
        for adj_y in (False, True):
            a, b = ([2, 4, 3] if adj_x else [2, 3, 4]), ([2, 5, 4] if adj_y else [2, 4, 5])
            fields = {"adjX": adj_x, "adjY": adj_y}
            yield "BATCH_MATMUL", [q(a, 0.03, -4), q(b, 0.02, 7)], [q([2, 3, 5], 0.05, 2)], "BatchMatMulOptions", fields
            yield "BATCH_MATMUL", [f(a), f(b)], [f([2, 3, 5])], "BatchMatMulOptions", fields


def reductions():
    shape = [2, 5, 7, 3]
    for axes in ([1, 2], [3], [2], [0, 3], [-1]):
        kept = [1 if d in [a % 4 for a in axes] else n for d, n in enumerate(shape)]
        dropped = [n for d, n in enumerate(shape) if d not in [a % 4 for a in axes]]
        for keep, out in ((True, kept), (False, dropped)):
            fields = {"keepDims": keep}
            for scale, zero in ((0.05, 3), (0.02, -40)):
                yield "MEAN", [q(shape), ints(axes)], [q(out, scale, zero)], "ReducerOptions", fields
            yield "SUM", [q(shape), ints(axes)], [q(out, 0.5, 1)], "ReducerOptions", fields
            yield "MEAN", [f(shape), ints(axes)], [f(out)], "ReducerOptions", fields
            yield "SUM", [f(shape), ints(axes)], [f(out)], "ReducerOptions", fields
            yield "REDUCE_MAX", [q(shape), ints(axes)], [q(out)], "ReducerOptions", fields
    for name in ("ARG_MAX", "ARG_MIN"):
        yield name, [q(shape), ints([2])], [tensor("i32", [2, 5, 3])], name.title().replace("_", "") + "Options", {
            "outputType": schema.TensorType.INT32}
    for exclusive in (False, True):
        for reverse in (False, True):
            yield "CUMSUM", [f(shape), ints([1])], [f(shape)], "CumsumOptions", {
                "exclusive": exclusive, "reverse": reverse}


def moves():
    shape = [2, 4, 6, 8]
    yield "PAD", [q(shape), ints([[0, 1], [2, 0], [1, 1], [0, 3]])], [q([3, 6, 8, 11])], None, {}
    yield "PADV2", [q(shape), ints([[0, 1], [2, 0], [1, 1], [0, 3]]), q([1], data=[-77])], [
        q([3, 6, 8, 11])], None, {}
    for mode in (0, 1):
        yield "MIRROR_PAD", [q(shape), ints([[0, 1], [2, 0], [1, 1], [0, 3]])], [
            q([3, 6, 8, 11])], "MirrorPadOptions", {"mode": mode}
    yield "TRANSPOSE", [q(shape), ints([2, 0, 3, 1])], [q([6, 2, 8, 4])], None, {}
    yield "CONCATENATION", [q(shape), q([2, 4, 3, 8])], [q([2, 4, 9, 8])], "ConcatenationOptions", {"axis": 2}
    yield "SPLIT", [ints(2), q(shape)], [q([2, 4, 2, 8])] * 3, "SplitOptions", {"numSplits": 3}
    yield "SPLIT_V", [q(shape), ints([1, 2, 3]), ints(2)], [q([2, 4, n, 8]) for n in (1, 2, 3)], "SplitVOptions", {
        "numSplits": 3}
    yield "PACK", [q([2, 3])] * 4, [q([2, 4, 3])], "PackOptions", {"valuesCount": 4, "axis": 1}
    yield "UNPACK", [q([2, 4, 3])], [q([2, 3])] * 4, "UnpackOptions", {"num": 4, "axis": 1}
    yield "SLICE", [q(shape), ints([1, 0, 2, 3]), ints([1, 3, -1, 2])], [q([1, 3, 4, 2])], None, {}
    for begin, end, strides, fields, out in (
            ([0, 1, 5, 0], [2, 4, 0, 8], [1, 2, -2, 3], {}, [2, 2, 3, 3]),
            ([0, -3, 0, 0], [0, -1, 0, 0], [1, 1, 2, 1], {"beginMask": 4, "endMask": 13}, [2, 2, 3, 8]),
            ([1, 0, 0, 0], [2, 4, 6, 8], [1, 1, 1, 1], {"shrinkAxisMask": 1}, [4, 6, 8]),
            ([0, 0, 5, 0], [2, 4, -9, 8], [1, 1, -1, 1], {}, [2, 4, 6, 8])):
        yield "STRIDED_SLICE", [q(shape), ints(begin), ints(end), ints(strides)], [q(out)], "StridedSliceOptions", {
            "beginMask": 0, "endMask": 0, "ellipsisMask": 0, "newAxisMask": 0, "shrinkAxisMask": 0, **fields}
    yield "GATHER", [q(shape), ints([3, 0, 3])], [q([2, 3, 6, 8])], "GatherOptions", {"axis": 1}
    yield "GATHER_ND", [q(shape), ints([[1, 3], [0, 2]])], [q([2, 6, 8])], None, {}
    yield "SPACE_TO_DEPTH", [q(shape)], [q([2, 2, 3, 32])], "SpaceToDepthOptions", {"blockSize": 2}
    yield "DEPTH_TO_SPACE", [q(shape)], [q([2, 8, 12, 2])], "DepthToSpaceOptions", {"blockSize": 2}
    # Of zero point 0: that of others TensorFlow Lite pads with, TensorFlow Lite Micro does not.
    yield "SPACE_TO_BATCH_ND", [q(shape, 0.05, 0), ints([2, 3]), ints([[1, 1], [0, 3]])], [
        q([12, 3, 3, 8], 0.05, 0)], None, {}
    yield "BATCH_TO_SPACE_ND", [q([12, 3, 3, 8]), ints([2, 3]), ints([[1, 1], [0, 3]])], [q(shape)], None, {}
    yield "BROADCAST_TO", [q([4, 1, 8]), ints(shape)], [q(shape)], None, {}
    for align in (False, True):
        for centers in (False, True):
            for size in ((8, 12), (3, 5), (7, 1)):
                fields = {"alignCorners": align, "halfPixelCenters": centers}
                out = [2, *size, 8]
                if align and centers:
                    continue
                yield "RESIZE_BILINEAR", [q(shape), ints(size)], [q(out)], "ResizeBilinearOptions", fields
                yield "RESIZE_BILINEAR", [f(shape), ints(size)], [f(out)], "ResizeBilinearOptions", fields
                yield "RESIZE_NEAREST_NEIGHBOR", [q(shape), ints(size)], [
                    q(out)], "ResizeNearestNeighborOptions", fields
    yield "DYNAMIC_UPDATE_SLICE", [q(shape), q([1, 2, 3, 4]), ints([1, 3, 1, 2])], [q(shape)], None, {}
    yield "ZEROS_LIKE", [f(shape)], [f(shape)], None, {}


def quantization():
    shape = [3, 50]
    yield "QUANTIZE", [f(shape)], [q(shape, 0.004, 7)], None, {}
    yield "QUANTIZE", [f(shape)], [tensor("i16", shape, 0.00003)], None, {}
    yield "QUANTIZE", [q(shape, 0.05, 3)], [q(shape, 0.03, -9)], None, {}
    yield "QUANTIZE", [q(shape, 0.05, 3)], [tensor("i16", shape, 0.0001)], None, {}
    yield "QUANTIZE", [tensor("i16", shape, 0.001)], [q(shape, 0.1, 4)], None, {}
    yield "DEQUANTIZE", [q(shape, 0.05, 3)], [f(shape)], None, {}
    yield "DEQUANTIZE", [tensor("i16", shape, 0.001)], [f(shape)], None, {}
    yield "CAST", [tensor("i8", shape)], [tensor("i32", shape)], "CastOptions", {
        "inDataType": schema.TensorType.INT8, "outDataType": schema.TensorType.INT32}
    yield "CAST", [tensor("i8", shape)], [f(shape)], "CastOptions", {
        "inDataType": schema.TensorType.INT8, "outDataType": schema.TensorType.FLOAT32}


def write_all(directory):
    """Writes all models; returns their files."""
    directory.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(1)
    counts, files = {}, []
    for family in (arithmetic(), activations(), layers(generator), reductions(), moves(), quantization()):
        for operator, inputs, outputs, options, fields in family:
            number = counts[operator] = counts.get(operator, 0) + 1
            path = directory / f"small_{operator.lower()}_{number}.tflite"
            path.write_bytes(make_model(operator, inputs, outputs, options, **fields))
            files.append(path)
    return files
