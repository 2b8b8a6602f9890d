"""Nets for what the others hardly touch: sharing memory in place, number formats, and families of
operators side by side."""

import numpy as np
from onnx import TensorProto

from onnxruntime_cases_net import Net, integers, truths

FLOAT16, INT8, INT32, INT64 = (TensorProto.FLOAT16, TensorProto.INT8, TensorProto.INT32, TensorProto.INT64)


def in_place(opset=13):
    """Chains that can run in one buffer, with forks where a value is still wanted, operands that repeat and
    operands that are broadcast."""
    shape = (2, 8, 16)
    net = Net("ort_in_place", opset)
    x, y = net.input("x", shape), net.input("y", (16,))
    a = net.op("Relu", net.op("Add", net.op("Mul", net.op("Sigmoid", x), net.positive(16)), y))
    b = net.op("Add", a, net.op("Tanh", a))  # a is read by both
    c = net.op("Mul", b, b)
    d = net.op("Sub", c, net.op("Exp", net.op("Neg", c)))
    e = net.op("Mul", net.op("Unsqueeze", y, net.ints(0, 1)), d)  # the second operand has the result's shape
    f = net.op("Reshape", net.op("Relu", net.op("Reshape", net.op("Abs", e), net.ints(16, 16))),
               net.ints(2, 8, 16))
    g = net.op("Add", f, net.op("Sqrt", f))
    first, second = net.op("Split", g, results=2, axis=1)
    h = net.op("Concat", net.op("Relu", second), net.op("Sub", first, second), axis=1)
    i = net.op("Add", h, x)  # the input is wanted to the end
    for _ in range(4):
        i = net.op("Mul", net.op("LeakyRelu", i, alpha=0.3), net.positive(1))
    j = net.op("Clip", i, net.real(-2), net.real(2))
    k = net.op("Where", net.op("Greater", j, net.op("Identity", i)), i, j)
    net.output(net.op("Add", k, net.op("Softmax", i, axis=2)), shape, name="result")
    net.output(c, shape, name="early")
    net.output(net.op("Cast", net.op("Cast", j, to=INT32), to=INT64), shape, np.int64, name="rounded")
    return net


def halves(opset=13):
    """Half precision through and through, beside single precision."""
    net = Net("ort_float16", opset)
    x = net.input("x", (4, 24), np.float16)
    y = net.input("y", (4, 24))
    weight = net.weight(24, 16, fan_in=24, dtype=np.float16)
    a = net.op("Add", net.op("MatMul", x, weight), net.small(16, dtype=np.float16))
    b = net.op("Relu", net.op("Mul", a, net.constant(1.5, np.float16)))
    c = net.op("Concat", b, net.op("Neg", a), axis=1)
    net.output(net.op("Transpose", c, perm=[1, 0]), (32, 4), np.float16, name="turned")
    net.output(net.op("Softmax", b, axis=-1), (4, 16), np.float16, name="shares")
    rounded = net.op("Cast", y, to=FLOAT16)
    net.output(net.op("Add", rounded, x), (4, 24), np.float16, name="sum")
    net.output(net.op("Sub", net.op("Cast", rounded, to=TensorProto.FLOAT), y), (4, 24), name="lost")
    return net


def whole_numbers(opset=17):
    """Arithmetic of integers, with large ones that no float holds, and of truth values."""
    net = Net("ort_integers", opset)
    big = net.input("big", (3, 8), np.int64, integers(-2**60, 2**60))
    small = net.input("small", (3, 8), np.int32, integers(-50, 50, np.int32))
    bytes_ = net.input("bytes", (3, 8), np.uint8, integers(0, 255, np.uint8))
    true = net.input("true", (3, 8), bool, truths)
    divisor = net.constant([[7, -3, 2, 5, -11, 1, 9, -4]], np.int64)
    of = {
        "sum": (net.op("Add", big, net.op("Mul", net.op("Cast", small, to=INT64), divisor)), np.int64),
        "quotient": (net.op("Div", small, net.op("Cast", divisor, to=INT32)), np.int32),
        "modulo": (net.op("Mod", big, divisor), np.int64),
        # ONNX Runtime computes this one by way of floats, so that large numbers would be rounded.
        "remainder": (net.op("Mod", net.op("Cast", small, to=INT64), divisor, fmod=1), np.int64),
        "shifted": (net.op("BitShift", bytes_, net.constant(2, np.uint8), direction="RIGHT"), np.uint8),
        "largest": (net.op("Max", small, net.op("Neg", small), net.constant(3, np.int32)), np.int32),
        "clipped": (net.op("Clip", big, net.constant(-10**17, np.int64), net.constant(10**17, np.int64)),
                    np.int64),
        "sign": (net.op("Sign", small), np.int32),
        "power": (net.op("Pow", small, net.constant(3, np.int32)), np.int32),
        "narrow": (net.op("Cast", small, to=INT8), np.int8),
        "nonzero": (net.op("Cast", net.op("Sub", small, small), to=TensorProto.BOOL), bool),
        "xor": (net.op("Xor", true, net.op("Or", net.op("Less", small, net.constant(0, np.int32)),
                                           net.op("Not", true))), bool),
        "equal": (net.op("Equal", true, net.op("GreaterOrEqual", big, net.constant(0, np.int64))), bool),
        "chosen": (net.op("Where", true, big, divisor), np.int64),
        "running": (net.op("CumSum", small, net.constant(1, np.int64), exclusive=1, reverse=1), np.int32),
    }
    for name, (value, dtype) in of.items():
        net.output(value, (3, 8), dtype, name=name)
    net.output(net.op("ReduceSum", small, net.ints(0), keepdims=0), (8,), np.int32, name="column_sums")
    net.output(net.op("ReduceMax", small, axes=[1]), (3, 1), np.int32, name="row_maxima")
    net.output(net.op("MatMulInteger", bytes_, net.constant(net.rng.integers(-9, 9, (8, 5)), np.int8),
                      net.constant(128, np.uint8)), (3, 5), np.int32, name="product")
    return net


def quantize(net, x, scale, dtype=np.int8, zero=0):
    return net.op("QuantizeLinear", x, net.real(scale), net.constant(zero, dtype))


def dequantize(net, x, scale, dtype=np.int8, zero=0):
    return net.op("DequantizeLinear", x, net.real(scale), net.constant(zero, dtype))


def quantized_weights(net, shape):
    """Seven bits: on processors without VNNI, ONNX Runtime adds pairs of products in 16 bits and saturates."""
    return net.constant(net.rng.integers(-64, 65, shape), np.int8)


def quantized(opset=13):
    """Quantised weights and activations around operators on floats. Scales are powers of two: sums of
    products are then exact, in whatever order, and rounding is the same everywhere."""
    net = Net("ort_quantized", opset)
    x = net.input("image", (1, 4, 12, 12))
    x = dequantize(net, quantize(net, x, 2.0**-6), 2.0**-6)
    filters = quantized_weights(net, (8, 4, 3, 3))
    scales = 2.0 ** net.rng.integers(-9, -6, 8)
    filters = net.op("DequantizeLinear", filters, net.constant(scales, np.float32),
                     net.constant(np.zeros(8), np.int8), axis=0)
    y = net.op("Relu", net.op("Conv", x, filters, kernel_shape=[3, 3], pads=[1, 1, 1, 1]))
    y = dequantize(net, quantize(net, y, 2.0**-5, np.uint8, 3), 2.0**-5, np.uint8, 3)
    y = net.op("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2])
    net.output(quantize(net, y, 2.0**-4, np.uint8, 10), (1, 8, 6, 6), np.uint8, name="pooled")
    columns = quantized_weights(net, (288, 10))
    z = net.op("MatMul", net.op("Flatten", y), dequantize(net, columns, 2.0**-10))
    net.output(z, (1, 10), name="scores")
    net.output(quantize(net, z, 2.0**-2), (1, 10), np.int8, name="quantized_scores")
    return net


def quantized_operators(opset=17):
    """Operators on quantised numbers themselves."""
    net = Net("ort_quantized_operators", opset)
    x = net.input("image", (1, 4, 10, 10), np.uint8, integers(0, 255, np.uint8))
    y = net.input("row", (5, 24))
    filters = quantized_weights(net, (6, 4, 3, 3))
    conv = net.op("QLinearConv", x, net.real(0.5), net.constant(128, np.uint8), filters, net.real(0.25),
                  net.constant(0, np.int8), net.real(64.0), net.constant(100, np.uint8),
                  net.constant(net.rng.integers(-999, 999, 6), np.int32), pads=[1, 0, 1, 0])
    net.output(conv, (1, 6, 10, 8), np.uint8, name="convolved")
    sums = net.op("ConvInteger", x, filters, net.constant(128, np.uint8), strides=[2, 2])
    net.output(sums, (1, 6, 4, 4), np.int32, name="sums")
    stored, scale, zero = net.op("DynamicQuantizeLinear", y, results=3)
    columns = quantized_weights(net, (24, 7))
    product = net.op("MatMulInteger", stored, columns, zero)
    net.output(net.op("Mul", net.op("Cast", product, to=TensorProto.FLOAT), scale), (5, 7), name="product")
    left = quantize(net, y, 2.0**-6, np.uint8, 120)
    net.output(net.op("QLinearMatMul", left, net.real(2.0**-6), net.constant(120, np.uint8), columns,
                      net.real(2.0**-7), net.constant(0, np.int8), net.real(2.0**-4),
                      net.constant(128, np.uint8)), (5, 7), np.uint8, name="quantized_product")
    return net


def elementwise(opset=17):
    """One of each function of a number."""
    shape = (3, 40)
    net = Net("ort_elementwise", opset)
    x = net.input("x", shape, draw=lambda rng, shape, k: rng.uniform(-4, 4, shape))
    unit = net.op("Mul", x, net.real(0.24))
    above = net.op("Add", net.op("Abs", x), net.real(1.1))
    kinds = {
        **{kind: x for kind in ("Sin", "Cos", "Sinh", "Cosh", "Tanh", "Atan", "Asinh", "Exp", "Erf", "Sigmoid",
                                "Softplus", "Softsign", "Floor", "Ceil", "Round", "Sign", "Elu", "Selu",
                                "Celu", "HardSigmoid", "HardSwish", "ThresholdedRelu", "Shrink")},
        **{kind: unit for kind in ("Asin", "Acos", "Atanh", "Tan")},
        **{kind: above for kind in ("Log", "Sqrt", "Reciprocal", "Acosh")},
    }
    if opset >= 18:
        kinds["Mish"] = x
    attributes = {"Elu": {"alpha": 0.7}, "Celu": {"alpha": 1.5}, "ThresholdedRelu": {"alpha": 0.5},
                  "Shrink": {"lambd": 1.0, "bias": 0.5}}
    for kind, operand in kinds.items():
        net.output(net.op(kind, operand, **attributes.get(kind, {})), shape, name=f"{kind.lower()}_of")
    row, column = net.positive(40), net.small(3, 1)
    for kind in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Mean"):
        net.output(net.op(kind, row, net.op(kind, x, column)), shape, name=f"{kind.lower()}_both")
    net.output(net.op("Pow", above, column), shape, name="pow_both")
    net.output(net.op("Mod", x, row, fmod=1), shape, name="fmod_both")
    return net


def reductions(opset):
    """Every reduction over middle, outer and all axes; axes are an input since operator set 18."""
    net = Net(f"ort_reductions_{opset}", opset)
    x = net.input("x", (3, 4, 5, 6))
    positive = net.op("Add", net.op("Abs", x), net.real(0.5))

    def reduce(kind, axes, keepdims):
        if axes is None:
            return net.op(kind, positive, keepdims=keepdims)
        if opset >= 18 or (kind == "ReduceSum" and opset >= 13):
            return net.op(kind, positive, net.ints(*axes), keepdims=keepdims)
        return net.op(kind, positive, axes=axes, keepdims=keepdims)

    for kind in ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare"):
        stem = kind.lower()
        net.output(reduce(f"Reduce{kind}", [1, 2], 0), (3, 6), name=f"{stem}_middle")
        net.output(reduce(f"Reduce{kind}", [-1, 0], 1), (1, 4, 5, 1), name=f"{stem}_outer")
        net.output(reduce(f"Reduce{kind}", [1], 1), (3, 1, 5, 6), name=f"{stem}_one")
        if kind != "Prod":
            net.output(reduce(f"Reduce{kind}", None, 0), (), name=f"{stem}_all")
    for axis, shape in ((0, (4, 5, 6)), (2, (3, 4, 6))):
        net.output(net.op("ArgMax", x, axis=axis, keepdims=0), shape, np.int64, name=f"most_{axis}")
        net.output(net.op("ArgMin", x, axis=axis - 4, keepdims=0), shape, np.int64, name=f"least_{axis}")
    for axis in (0, 1, 3):
        net.output(net.op("Softmax", x, axis=axis), (3, 4, 5, 6), name=f"softmax_axis_{axis}")
        net.output(net.op("LogSoftmax", x, axis=axis), (3, 4, 5, 6), name=f"logsoftmax_axis_{axis}")
    net.output(net.op("CumSum", x, net.constant(2, np.int64), reverse=1), (3, 4, 5, 6), name="running")
    return net


def moves(opset=17):
    """Operators that only move elements, with indices from outside where they may be."""
    net = Net("ort_moves", opset)
    x = net.input("x", (4, 5, 6))
    rows = net.input("rows", (3,), np.int64, integers(-4, 3))
    pairs = net.input("pairs", (2, 3, 2), np.int64, integers(0, 3))
    deep = net.input("deep", (4, 2, 6), np.int64, integers(-5, 4))
    flags = net.input("flags", (4, 1, 6), bool, truths)
    updates = net.op("Exp", net.op("Slice", x, net.ints(0), net.ints(2), net.ints(1)))
    sums = net.op("ScatterElements", x, deep, updates, axis=1, reduction="add")
    twice = net.op("ScatterND", x, net.constant([[1], [3]], np.int64),
                   net.op("Gather", x, net.ints(0, 2)))
    of = {
        "rows_of": (net.op("Gather", x, rows), (3, 5, 6)),
        "columns": (net.op("Gather", x, net.constant([[0, -1], [2, 2]], np.int64), axis=2), (4, 5, 2, 2)),
        "one": (net.op("Gather", x, net.constant(2, np.int64), axis=1), (4, 6)),
        "pairs_of": (net.op("GatherND", x, pairs), (2, 3, 6)),
        "elements": (net.op("GatherElements", x, deep, axis=1), (4, 2, 6)),
        "added": (sums, (4, 5, 6)),
        "replaced": (twice, (4, 5, 6)),
        "backward": (net.op("Slice", x, net.ints(-1, 5), net.ints(-100, 0), net.ints(0, 2), net.ints(-1, -2)),
                     (4, 5, 3)),
        "inner": (net.op("Slice", x, net.ints(1, -4), net.ints(3, -1), net.ints(0, -1)), (2, 5, 3)),
        "tiled": (net.op("Tile", x, net.ints(2, 1, 3)), (8, 5, 18)),
        "expanded": (net.op("Expand", net.op("Slice", x, net.ints(0), net.ints(1), net.ints(1)),
                            net.ints(2, 1, 3, 1)), (2, 4, 3, 6)),
        "turned": (net.op("Transpose", x, perm=[2, 0, 1]), (6, 4, 5)),
        "flipped": (net.op("Transpose", x), (6, 5, 4)),
        "flat": (net.op("Flatten", x, axis=2), (20, 6)),
        "unlike": (net.op("Where", flags, x, net.op("Neg", x)), (4, 5, 6)),
        "reversed": (net.op("ReverseSequence", x, net.constant([2, 1, 5, 4], np.int64), batch_axis=0,
                            time_axis=1), (4, 5, 6)),
        "lower": (net.op("Trilu", x, net.constant(-1, np.int64), upper=0), (4, 5, 6)),
        "upper": (net.op("Trilu", x, net.constant(2, np.int64), upper=1), (4, 5, 6)),
        "hot": (net.op("OneHot", rows, net.constant(6, np.int64), net.constant([0.5, 2.0], np.float32)),
                (3, 6)),
        "identity": (net.op("Add", net.op("EyeLike", net.op("Gather", x, net.constant(0, np.int64)), k=1),
                            net.op("Gather", x, net.constant(1, np.int64))), (5, 6)),
    }
    for name, (value, shape) in of.items():
        net.output(value, shape, name=name)
    parts = net.op("Split", x, net.ints(1, 3, 2), results=3, axis=2)
    net.output(net.op("Concat", parts[2], parts[0], net.op("Relu", parts[1]), parts[0], axis=-1), (4, 5, 7),
               name="rearranged")
    best, places = net.op("TopK", x, net.ints(2), results=2, axis=1, largest=0)
    net.output(best, (4, 2, 6), name="least")
    net.output(places, (4, 2, 6), np.int64, name="places")
    return net


def products(opset=13):
    """Matrix products of all ranks, and what is built on them."""
    net = Net("ort_products", opset)
    a, b = net.input("a", (2, 1, 4, 6)), net.input("b", (3, 6, 5))
    row, square = net.input("row", (6,)), net.input("square", (5, 6))
    of = {
        "broadcast": (net.op("MatMul", a, b), (2, 3, 4, 5)),
        "from_row": (net.op("MatMul", row, b), (3, 5)),
        "to_row": (net.op("MatMul", a, row), (2, 1, 4)),
        "inner": (net.op("MatMul", row, row), ()),
        "gemm": (net.op("Gemm", square, square, net.small(5, 1), transB=1, alpha=0.5, beta=3.0), (5, 5)),
        "gemm_turned": (net.op("Gemm", square, net.weight(7, 5), transA=1, transB=1), (6, 7)),
        "summed": (net.op("Einsum", a, b, equation="bxij,cjk->bck"), (2, 3, 5)),
        "diagonal": (net.op("Einsum", net.op("Gemm", square, square, transB=1), equation="ii->i"), (5,)),
        "outer": (net.op("Einsum", row, net.op("ReduceMax", square, axes=[1], keepdims=0),
                         equation="i,j->ij"), (6, 5)),
    }
    for name, (value, shape) in of.items():
        net.output(value, shape, name=name)
    return net


def newest(opset):
    """Forms that operators took late."""
    net = Net(f"ort_newest_{opset}", opset)
    x = net.input("x", (2, 8, 6, 6))
    of = {
        "gelu_of": (net.op("Gelu", x), (2, 8, 6, 6)),
        "mish_of": (net.op("Mish", x), (2, 8, 6, 6)),
        "padded": (net.op("Pad", x, net.ints(1, 2, 0, 1), net.real(0.5), net.ints(3, 1)), (2, 11, 6, 7)),
        "wrapped": (net.op("Pad", x, net.ints(2, 1), "", net.ints(2), mode="wrap"), (2, 8, 9, 6)),
        "parts": (net.op("Concat", *net.op("Split", x, results=3, axis=1, num_outputs=3)[::-1], axis=1),
                  (2, 8, 6, 6)),
        "resized": (net.op("Resize", x, "", "", net.ints(4, 9), axes=[2, 3], mode="linear"), (2, 8, 4, 9)),
        "best": (net.op("ReduceMax", x, net.ints(1, 3), keepdims=0), (2, 6)),
        "mean_of": (net.op("AveragePool", x, kernel_shape=[2, 2], dilations=[2, 2], ceil_mode=1),
                    (2, 8, 4, 4)),
        "turned_back": (net.op("Reshape", net.op("Equal", net.op("Cast", x, to=INT32),
                                                 net.constant(0, np.int32)), net.ints(0, -1)), (2, 288)),
    }
    if opset >= 21:
        of["grouped"] = (net.op("GroupNormalization", x, net.positive(8), net.small(8), num_groups=4),
                         (2, 8, 6, 6))
    for name, (value, shape) in of.items():
        net.output(value, shape, bool if name == "turned_back" else np.float32, name=name)
    return net


def antialiased(opset=20):
    net = Net("ort_resize_antialias", opset)
    x = net.input("x", (2, 8, 6, 6))
    net.output(net.op("Resize", x, "", "", net.ints(3, 3), axes=[3, 2], mode="linear", antialias=1),
               (2, 8, 3, 3), name="small")
    return net


def nets():
    yield in_place()
    yield halves()
    yield whole_numbers()
    yield quantized()
    yield quantized_operators()
    yield elementwise()
    yield reductions(11)
    yield reductions(13)
    yield reductions(20)
    yield moves()
    yield products()
    yield newest(20)
    yield newest(21)
    yield antialiased()
