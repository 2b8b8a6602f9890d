"""usage: open.py FOLDER   writes networks with open sizes, as exporters write them: shapes are computed from shapes.

They are small, but have the operators and the depth of what they are named after: a decoder like Llama with caches,
both halves of Whisper, BERT, ViT, detectors, recognisers and makers of speech. Weights are random.
"""

import argparse
import pathlib

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64


class Open:
    """Writes operators, and knows no shapes."""

    def __init__(self, name):
        self.name = name
        self.nodes, self.weights, self.inputs, self.outputs, self.known = [], [], [], [], {}
        self.draw = numpy.random.default_rng(1)

    def input(self, name, shape, kind=FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, tensor, shape, name, kind=FLOAT):
        self.nodes.append(helper.make_node("Identity", [tensor], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, kind, shape))

    def __call__(self, op, *operands, outputs=1, **attributes):
        results = [f"{op}_{len(self.nodes)}" + (f"_{i}" if i else "") for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(operands), results, name=results[0], **attributes))
        return results[0] if outputs == 1 else results

    def weight(self, *shape):
        name = f"weight_{len(self.weights)}"
        scale = 1 / max(1, numpy.prod(shape[1:])) ** 0.5
        self.weights.append(numpy_helper.from_array(self.draw.normal(0, scale, shape).astype(numpy.float32), name))
        return name

    def const(self, value, kind=numpy.int64):
        key = f"const_{value}_{numpy.dtype(kind).name}"
        if key not in self.known:
            self.known[key] = f"const_{len(self.known)}"
            self.weights.append(numpy_helper.from_array(numpy.array(value, kind), self.known[key]))
        return self.known[key]

    def real(self, value):
        return self.const(value, numpy.float32)

    def extent(self, x, axis):
        """Of one element, as exporters write x.shape[axis]."""
        return self("Unsqueeze", self("Gather", self("Shape", x), self.const(axis), axis=0), self.const([0]))

    def shape(self, *parts):
        return self("Concat", *[self.const([it]) if isinstance(it, int) else it for it in parts], axis=0)

    def reshape(self, x, *parts):
        return self("Reshape", x, self.shape(*parts))

    def scalar(self, extent):
        return self("Squeeze", extent, self.const([0]))

    def linear(self, x, inputs, outputs):
        return self("Add", self("MatMul", x, self.weight(inputs, outputs)), self.weight(outputs))

    def norm(self, x, width):
        mean = self("ReduceMean", x, axes=[-1])
        centred = self("Sub", x, mean)
        variance = self("ReduceMean", self("Pow", centred, self.real(2.0)), axes=[-1])
        normal = self("Div", centred, self("Sqrt", self("Add", variance, self.real(1e-5))))
        return self("Add", self("Mul", normal, self.weight(width)), self.weight(width))

    def rms_norm(self, x, width):
        power = self("ReduceMean", self("Pow", x, self.real(2.0)), axes=[-1])
        scale = self("Reciprocal", self("Sqrt", self("Add", power, self.real(1e-5))))
        return self("Mul", self("Mul", x, scale), self.weight(width))

    def gelu(self, x):
        inner = self("Erf", self("Div", x, self.real(1.4142135)))
        return self("Mul", self("Mul", x, self("Add", inner, self.real(1.0))), self.real(0.5))

    def silu(self, x):
        return self("Mul", x, self("Sigmoid", x))

    def heads(self, x, count, width):
        apart = self.reshape(x, self.extent(x, 0), self.extent(x, 1), count, width)
        return self("Transpose", apart, perm=[0, 2, 1, 3])

    def together(self, x, width):
        x = self("Transpose", x, perm=[0, 2, 1, 3])
        return self.reshape(x, self.extent(x, 0), self.extent(x, 1), width)

    def attend(self, query, keys, values, mask=None):
        scores = self("MatMul", query, self("Transpose", keys, perm=[0, 1, 3, 2]))
        scores = self("Mul", scores, self.real(0.25))
        if mask:
            scores = self("Add", scores, mask)
        return self("MatMul", self("Softmax", scores, axis=-1), values)

    def attention(self, x, memory, width, heads, mask=None):
        query, keys, values = (self.heads(self.linear(of, width, width), heads, width // heads)
                               for of in (x, memory, memory))
        return self.linear(self.together(self.attend(query, keys, values, mask), width), width, width)

    def layer(self, x, width, heads, mask=None):
        """Of an encoder."""
        x = self("Add", x, self.attention(self.norm(x, width), self.norm(x, width), width, heads, mask))
        inner = self.gelu(self.linear(self.norm(x, width), width, 4 * width))
        return self("Add", x, self.linear(inner, 4 * width, width))

    def positions(self, begin, extent):
        """From begin to begin + extent."""
        first = self.scalar(begin) if begin else self.const(0)
        return self("Range", first, self("Add", first, self.scalar(extent)), self.const(1))

    def causal(self, seq, past=None):
        """0 where a token may look, -10000 elsewhere: [seq, past + seq]."""
        total = self("Add", past, seq) if past else seq
        rows = self("Unsqueeze", self.positions(past, seq), self.const([1]))
        columns = self("Unsqueeze", self.positions(None, total), self.const([0]))
        later = self("Cast", self("Greater", columns, rows), to=FLOAT)
        return self("Mul", later, self.real(-10000.0))

    def conv(self, x, inputs, outputs, kernel=3, stride=1, groups=1, dilation=1, axes=2, pad=None):
        pads = [dilation * (kernel - 1) // 2 if pad is None else pad] * (2 * axes)
        weight = self.weight(outputs, inputs // groups, *[kernel] * axes)
        return self("Conv", x, weight, self.weight(outputs), kernel_shape=[kernel] * axes, strides=[stride] * axes,
                    group=groups, dilations=[dilation] * axes, pads=pads)

    def save(self, folder):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model)
        onnx.save(model, f"{folder}/{self.name}.onnx")


def llama(layers=32, width=64, heads=4, groups=2):
    """Rotated positions, caches of two groups of heads, a causal mask, gated products."""
    net, each = Open("llama_32"), width // heads
    ids = net.input("input_ids", ["batch", "seq"], INT)
    caches = [[net.input(f"past_{what}_{i}", ["batch", groups, "past", each]) for what in ("key", "value")]
              for i in range(layers)]
    seq, past, batch = net.extent(ids, 1), net.extent(caches[0][0], 2), net.extent(ids, 0)
    place = net("Cast", net.positions(past, seq), to=FLOAT)
    angles = net("Mul", net("Unsqueeze", place, net.const([1])), net.weight(1, each // 2))
    angles = net("Concat", angles, angles, axis=1)
    sine, cosine, mask = net("Sin", angles), net("Cos", angles), net.causal(seq, past)
    x = net("Gather", net.weight(256, width), ids, axis=0)

    def rotate(y):
        first, second = net("Split", y, outputs=2, axis=3)
        turned = net("Concat", net("Neg", second), first, axis=3)
        return net("Add", net("Mul", y, cosine), net("Mul", turned, sine))

    def repeat(y, total):
        wide = net("Expand", net("Unsqueeze", y, net.const([2])),
                   net.shape(batch, groups, heads // groups, total, each))
        return net.reshape(wide, batch, heads, total, each)

    for i, (old_keys, old_values) in enumerate(caches):
        y = net.rms_norm(x, width)
        query = rotate(net.heads(net("MatMul", y, net.weight(width, width)), heads, each))
        keys, values = (net.heads(net("MatMul", y, net.weight(width, groups * each)), groups, each) for _ in "kv")
        keys = net("Concat", old_keys, rotate(keys), axis=2)
        values = net("Concat", old_values, values, axis=2)
        net.output(keys, ["batch", groups, "total", each], f"key_{i}")
        net.output(values, ["batch", groups, "total", each], f"value_{i}")
        total = net.extent(keys, 2)
        mixed = net.attend(query, repeat(keys, total), repeat(values, total), mask)
        x = net("Add", x, net("MatMul", net.together(mixed, width), net.weight(width, width)))
        y = net.rms_norm(x, width)
        gated = net("Mul", net.silu(net("MatMul", y, net.weight(width, 172))),
                    net("MatMul", y, net.weight(width, 172)))
        x = net("Add", x, net("MatMul", gated, net.weight(172, width)))
    net.output(net("MatMul", net.rms_norm(x, width), net.weight(width, 256)), ["batch", "seq", 256], "logits")
    return net


def gpt(layers=6, width=64, heads=4):
    """One product makes queries, keys and values; a cache is one tensor."""
    net, each = Open("gpt_6"), width // heads
    ids = net.input("input_ids", ["batch", "seq"], INT)
    caches = [net.input(f"past_{i}", [2, "batch", heads, "past", each]) for i in range(layers)]
    seq, past = net.extent(ids, 1), net.extent(caches[0], 3)
    x = net("Add", net("Gather", net.weight(256, width), ids, axis=0),
            net("Gather", net.weight(1024, width), net.positions(past, seq), axis=0))
    mask = net.causal(seq, past)
    for i, cache in enumerate(caches):
        query, keys, values = net("Split", net.linear(net.norm(x, width), width, 3 * width), outputs=3, axis=2)
        old_keys, old_values = (net("Gather", cache, net.const(which), axis=0) for which in (0, 1))
        keys = net("Concat", old_keys, net.heads(keys, heads, each), axis=2)
        values = net("Concat", old_values, net.heads(values, heads, each), axis=2)
        both = net("Concat", *[net("Unsqueeze", it, net.const([0])) for it in (keys, values)], axis=0)
        net.output(both, [2, "batch", heads, "total", each], f"present_{i}")
        mixed = net.together(net.attend(net.heads(query, heads, each), keys, values, mask), width)
        x = net("Add", x, net.linear(mixed, width, width))
        x = net("Add", x, net.linear(net.gelu(net.linear(net.norm(x, width), width, 4 * width)), 4 * width, width))
    net.output(net("MatMul", net.norm(x, width), net.weight(width, 256)), ["batch", "seq", 256], "logits")
    return net


def whisper_encoder(layers=4, width=64):
    net = Open("whisper_encoder")
    x = net.input("mel", ["batch", 80, "frames"])
    x = net.gelu(net.conv(x, 80, width, axes=1))
    x = net("Transpose", net.gelu(net.conv(x, width, width, stride=2, axes=1)), perm=[0, 2, 1])
    table = net("Slice", net.weight(1500, width), net.const([0]), net.extent(x, 1), net.const([0]))
    x = net("Add", x, table)
    for _ in range(layers):
        x = net.layer(x, width, 4)
    net.output(net.norm(x, width), ["batch", "steps", width], "states")
    return net


def whisper_decoder(layers=4, width=64, heads=4):
    """Attention to what was said and to what was heard."""
    net, each = Open("whisper_decoder"), width // heads
    ids = net.input("tokens", ["batch", "seq"], INT)
    heard = net.input("states", ["batch", "steps", width])
    caches = [[net.input(f"past_{what}_{i}", ["batch", heads, "past", each]) for what in ("key", "value")]
              for i in range(layers)]
    seq, past = net.extent(ids, 1), net.extent(caches[0][0], 2)
    x = net("Add", net("Gather", net.weight(256, width), ids, axis=0),
            net("Gather", net.weight(448, width), net.positions(past, seq), axis=0))
    mask = net.causal(seq, past)
    for i, (old_keys, old_values) in enumerate(caches):
        y = net.norm(x, width)
        query, keys, values = (net.heads(net.linear(y, width, width), heads, each) for _ in "qkv")
        keys, values = net("Concat", old_keys, keys, axis=2), net("Concat", old_values, values, axis=2)
        net.output(keys, ["batch", heads, "total", each], f"key_{i}")
        net.output(values, ["batch", heads, "total", each], f"value_{i}")
        mixed = net.together(net.attend(query, keys, values, mask), width)
        x = net("Add", x, net.linear(mixed, width, width))
        x = net("Add", x, net.attention(net.norm(x, width), heard, width, heads))
        x = net("Add", x, net.linear(net.gelu(net.linear(net.norm(x, width), width, 4 * width)), 4 * width, width))
    net.output(net("MatMul", net.norm(x, width), net.weight(width, 256)), ["batch", "seq", 256], "logits")
    return net


def bert(layers=6, width=64):
    """Ids, types and a mask; the first token becomes a sentence."""
    net = Open("bert_6")
    ids, mask, types = (net.input(name, ["batch", "seq"], INT)
                        for name in ("input_ids", "attention_mask", "token_type_ids"))
    table = net("Slice", net.const([list(range(512))]), net.const([0]), net.extent(ids, 1), net.const([1]))
    parts = [net("Gather", net.weight(rows, width), of, axis=0)
             for rows, of in ((256, ids), (2, types), (512, table))]
    x = net.norm(net("Add", net("Add", parts[0], parts[1]), parts[2]), width)
    far = net("Sub", net.real(1.0), net("Cast", net("Unsqueeze", mask, net.const([1, 2])), to=FLOAT))
    far = net("Mul", far, net.real(-10000.0))
    for _ in range(layers):
        x = net.layer(x, width, 4, far)
    first = net("Gather", x, net.const(0), axis=1)
    net.output(x, ["batch", "seq", width], "tokens")
    net.output(net("Tanh", net("Gemm", first, net.weight(width, width))), ["batch", width], "sentence")
    return net


def relative_encoder(layers=3, width=64, heads=4):
    """Biases by the distance of tokens, as in T5."""
    net = Open("relative_encoder")
    ids = net.input("input_ids", ["batch", "seq"], INT)
    at = net.positions(None, net.extent(ids, 1))
    distance = net("Sub", net("Unsqueeze", at, net.const([0])), net("Unsqueeze", at, net.const([1])))
    bucket = net("Add", net("Clip", distance, net.const(-16), net.const(16)), net.const(16))
    bias = net("Gather", net.weight(33, heads), bucket, axis=0)
    bias = net("Unsqueeze", net("Transpose", bias, perm=[2, 0, 1]), net.const([0]))
    x = net("Gather", net.weight(256, width), ids, axis=0)
    for _ in range(layers):
        x = net.layer(x, width, heads, bias)
    net.output(net.rms_norm(x, width), ["batch", "seq", width], "states")
    return net


def vit(layers=6, width=64):
    """Patches of 16, a token for the class, and a table of places that is resized to the image."""
    net = Open("vit_any_image")
    image = net.input("image", ["batch", 3, "height", "width"])
    x = net.conv(image, 3, width, kernel=16, stride=16, pad=0)
    batch, rows, columns = net.extent(x, 0), net.extent(x, 2), net.extent(x, 3)
    table = net("Resize", net.weight(1, width, 14, 14), "", "", net.shape(1, width, rows, columns), mode="cubic",
                coordinate_transformation_mode="half_pixel")
    x = net.reshape(net("Add", x, table), batch, width, -1)
    x = net("Transpose", x, perm=[0, 2, 1])
    token = net("Expand", net.weight(1, 1, width), net.shape(batch, 1, width))
    x = net("Concat", token, x, axis=1)
    for _ in range(layers):
        x = net.layer(x, width, 4)
    net.output(net.linear(net("Gather", net.norm(x, width), net.const(0), axis=1), width, 10), ["batch", 10], "class")
    return net


def windows(layers=2, width=32, window=7):
    """Attention in windows, as in Swin: the image is padded to whole windows and cropped again."""
    net = Open("windows_any_image")
    image = net.input("image", ["batch", 3, "height", "width"])
    x = net("Transpose", net.conv(image, 3, width, kernel=4, stride=4, pad=0), perm=[0, 2, 3, 1])
    for _ in range(layers):
        batch, rows, columns = (net.extent(x, axis) for axis in (0, 1, 2))
        more = [net("Mod", net("Sub", net.const([window]), net("Mod", it, net.const([window]))), net.const([window]))
                for it in (rows, columns)]
        y = net("Pad", net.norm(x, width), net.shape(0, 0, 0, 0, 0, *more, 0), net.real(0.0))
        down, right = (net("Div", net.extent(y, axis), net.const([window])) for axis in (1, 2))
        y = net("Transpose", net.reshape(y, batch, down, window, right, window, width), perm=[0, 1, 3, 2, 4, 5])
        y = net.reshape(y, -1, window * window, width)
        y = net.attention(y, y, width, 2)
        y = net("Transpose", net.reshape(y, batch, down, right, window, window, width), perm=[0, 1, 3, 2, 4, 5])
        y = net.reshape(y, batch, net("Mul", down, net.const([window])), net("Mul", right, net.const([window])), width)
        y = net("Slice", y, net.const([0, 0]), net("Concat", rows, columns, axis=0), net.const([1, 2]))
        x = net("Add", x, y)
        x = net("Add", x, net.linear(net.gelu(net.linear(net.norm(x, width), width, 4 * width)), 4 * width, width))
    net.output(net("ReduceMean", x, axes=[1, 2], keepdims=0), ["batch", width], "features")
    return net


def detector():
    """Three scales down, two up, and boxes around the places of a grid that follows from the image."""
    net = Open("detector_any_image")
    x, skips = net.input("image", ["batch", 3, "height", "width"]), []
    for inputs, outputs in ((3, 8), (8, 16), (16, 32), (32, 64), (64, 64)):
        x = net.silu(net.conv(x, inputs, outputs, stride=2))
        inner = net.silu(net.conv(net.silu(net.conv(x, outputs, outputs // 2, kernel=1)), outputs // 2, outputs))
        x = net("Add", x, inner)
        skips.append(x)
    levels = [x]
    for skip, channels in ((skips[3], 64), (skips[2], 32)):
        up = net("Resize", levels[-1], "", net.real([1, 1, 2, 2]), mode="nearest",
                 coordinate_transformation_mode="asymmetric", nearest_mode="floor")
        levels.append(net.silu(net.conv(net("Concat", up, skip, axis=1), 64 + channels, 64)))
    boxes, scores = [], []
    for level, stride in zip(levels, (32, 16, 8)):
        rows, columns = net.extent(level, 2), net.extent(level, 3)
        both = net("Concat", rows, columns, axis=0)
        down = net("Expand", net("Unsqueeze", net.positions(None, rows), net.const([1])), both)
        right = net("Expand", net("Unsqueeze", net.positions(None, columns), net.const([0])), both)
        grid = net("Cast", net("Concat", *[net("Unsqueeze", it, net.const([2])) for it in (right, down)], axis=2),
                   to=FLOAT)
        grid = net("Mul", net("Reshape", grid, net.const([1, -1, 2])), net.real(float(stride)))
        found = net.reshape(net.conv(level, 64, 9, kernel=1), net.extent(level, 0), 9, -1)
        box, score = net("Split", net("Transpose", found, perm=[0, 2, 1]), net.const([4, 5]), outputs=2, axis=2)
        centre, size = net("Split", box, net.const([2, 2]), outputs=2, axis=2)
        boxes.append(net("Concat", net("Add", grid, centre), net("Exp", size), axis=2))
        scores.append(net("Sigmoid", score))
    net.output(net("Concat", *boxes, axis=1), ["batch", "places", 4], "boxes")
    net.output(net("Concat", *scores, axis=1), ["batch", "places", 5], "scores")
    return net


def unet():
    """Images of any size: what comes up is resized to what it joins."""
    net = Open("unet_any_image")
    x, skips = net.input("image", ["batch", 3, "height", "width"]), []
    channels = 3
    for width in (8, 16, 32):
        x = net("Relu", net.conv(net("Relu", net.conv(x, channels, width)), width, width))
        skips.append(x)
        x, channels = net("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1), width
    x = net("Relu", net.conv(x, 32, 64))
    channels = 64
    for skip, width in zip(reversed(skips), (32, 16, 8)):
        sizes = net("Concat", net.extent(x, 0), net.const([channels]), net("Slice", net("Shape", skip), net.const([2]),
                    net.const([4])), axis=0)
        x = net("Resize", x, "", "", sizes, mode="linear", coordinate_transformation_mode="half_pixel")
        x = net("Relu", net.conv(net("Concat", x, skip, axis=1), channels + width, width))
        channels = width
    net.output(net("Sigmoid", net.conv(x, 8, 1, kernel=1)), ["batch", 1, "height", "width"], "mask")
    return net


def pixels():
    """An image twice as large; parts of channels become pixels."""
    net = Open("larger_any_image")
    image = net.input("image", [1, 3, "height", "width"])
    x = first = net.conv(image, 3, 16)
    for _ in range(4):
        x = net("Add", x, net.conv(net("Relu", net.conv(x, 16, 16)), 16, 16))
    x = net("DepthToSpace", net.conv(net("Add", x, first), 16, 12), blocksize=2, mode="CRD")
    net.output(net("Clip", x, net.real(0.0), net.real(1.0)), [1, 3, "tall", "wide"], "larger")
    return net


def recogniser(hidden=32):
    """Convolutions over time, LSTMs in both directions, letters for each step."""
    net = Open("letters_any_time")
    x = net.input("features", ["batch", 1, "frames", 40])
    x = net("Relu", net.conv(net("Relu", net.conv(x, 1, 8, stride=2)), 8, 8, stride=2))
    x = net("Transpose", x, perm=[2, 0, 1, 3])
    x, inputs = net.reshape(x, net.extent(x, 0), net.extent(x, 1), 80), 80
    for _ in range(2):
        weights = net.weight(2, 4 * hidden, inputs), net.weight(2, 4 * hidden, hidden)
        zeros = net("Expand", net.real([[[0.0]]]), net.shape(2, net.extent(x, 1), hidden))
        x = net("LSTM", x, *weights, net.weight(2, 8 * hidden), "", zeros, zeros, hidden_size=hidden,
                direction="bidirectional")
        x = net("Transpose", x, perm=[0, 2, 1, 3])
        x, inputs = net.reshape(x, net.extent(x, 0), net.extent(x, 1), 2 * hidden), 2 * hidden
    x = net("LogSoftmax", net.linear(x, inputs, 29), axis=-1)
    net.output(net("Transpose", x, perm=[1, 0, 2]), ["batch", "steps", 29], "letters")
    return net


def conformer(layers=4, width=64):
    """Attention, and gated convolutions along time between halves of a feed-forward layer."""
    net = Open("conformer_any_time")
    x = net.input("mel", ["batch", "frames", 80])
    x = net("Unsqueeze", x, net.const([1]))
    x = net("Relu", net.conv(net("Relu", net.conv(x, 1, 8, stride=2, pad=0)), 8, 8, stride=2, pad=0))
    x = net("Transpose", x, perm=[0, 2, 1, 3])
    x = net.linear(net.reshape(x, net.extent(x, 0), net.extent(x, 1), 8 * 19), 8 * 19, width)

    def half(y):
        inner = net.silu(net.linear(net.norm(y, width), width, 4 * width))
        return net("Add", y, net("Mul", net.linear(inner, 4 * width, width), net.real(0.5)))

    for _ in range(layers):
        x = half(x)
        y = net.norm(x, width)
        x = net("Add", x, net.attention(y, y, width, 4))
        y = net("Transpose", net.norm(x, width), perm=[0, 2, 1])
        first, gate = net("Split", net.conv(y, width, 2 * width, kernel=1, axes=1), outputs=2, axis=1)
        y = net("Mul", first, net("Sigmoid", gate))
        y = net.silu(net.conv(y, width, width, kernel=15, groups=width, axes=1))
        x = net("Add", x, net("Transpose", net.conv(y, width, width, kernel=1, axes=1), perm=[0, 2, 1]))
        x = half(x)
    net.output(net.linear(x, width, 29), ["batch", "steps", 29], "letters")
    return net


def voices(width=48):
    """The mean and the deviation of all frames become a speaker."""
    net = Open("voices_any_time")
    x = net("Transpose", net.input("mel", ["batch", "frames", 40]), perm=[0, 2, 1])
    for inputs, kernel, dilation in ((40, 5, 1), (width, 3, 2), (width, 3, 3), (width, 1, 1)):
        x = net("Relu", net.conv(x, inputs, width, kernel=kernel, dilation=dilation, axes=1, pad=0))
    mean = net("ReduceMean", x, axes=[2])
    spread = net("Sqrt", net("ReduceMean", net("Pow", net("Sub", x, mean), net.real(2.0)), axes=[2]))
    both = net("Squeeze", net("Concat", mean, spread, axis=1), net.const([2]))
    net.output(net("Gemm", both, net.weight(2 * width, 64)), ["batch", 64], "speaker")
    return net


def vocoder():
    """Sound of frames: transposed convolutions, and dilated ones of three widths behind each."""
    net, channels = Open("vocoder_any_time"), 64
    x = net.conv(net.input("mel", ["batch", 80, "frames"]), 80, channels, kernel=7, axes=1)
    for rate in (8, 8, 2):
        x = net("LeakyRelu", x, alpha=0.1)
        x = net("ConvTranspose", x, net.weight(channels, channels // 2, 2 * rate), net.weight(channels // 2),
                kernel_shape=[2 * rate], strides=[rate], pads=[rate // 2, rate // 2])
        channels //= 2
        parts = []
        for kernel in (3, 5, 7):
            y = x
            for dilation in (1, 3):
                y = net("Add", y, net.conv(net("LeakyRelu", y, alpha=0.1), channels, channels, kernel=kernel,
                                           dilation=dilation, axes=1))
            parts.append(y)
        x = net("Div", net("Add", net("Add", parts[0], parts[1]), parts[2]), net.real(3.0))
    net.output(net("Tanh", net.conv(x, channels, 1, kernel=7, axes=1)), ["batch", 1, "samples"], "sound")
    return net


def pairs(layers=3, width=64):
    """Images and texts of two batches, and how near each is to each."""
    net = Open("images_and_texts")
    image = net.input("pixels", ["images", 3, 64, 64])
    x = net.conv(image, 3, width, kernel=16, stride=16, pad=0)
    x = net("Transpose", net.reshape(x, net.extent(x, 0), width, 16), perm=[0, 2, 1])
    ids = net.input("input_ids", ["texts", "seq"], INT)
    y = net("Gather", net.weight(256, width), ids, axis=0)
    mask = net.causal(net.extent(ids, 1))
    for _ in range(layers):
        x, y = net.layer(x, width, 4), net.layer(y, width, 4, mask)
    x, y = (net("ReduceMean", it, axes=[1], keepdims=0) for it in (x, y))
    x, y = (net("Div", it, net("ReduceL2", it, axes=[1])) for it in (x, y))
    net.output(net("MatMul", x, net("Transpose", y, perm=[1, 0])), ["images", "texts"], "nearness")
    return net


NETWORKS = (llama, gpt, whisper_encoder, whisper_decoder, bert, relative_encoder, vit, windows, detector, unet, pixels,
            recogniser, conformer, voices, vocoder, pairs)


def main():
    parser = argparse.ArgumentParser(description="Writes networks with open sizes as ONNX files.")
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for make in NETWORKS:
        net = make()
        net.save(options.folder)
        print(net.name, len(net.nodes), flush=True)


if __name__ == "__main__":
    main()
