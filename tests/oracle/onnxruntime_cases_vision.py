"""Convolutional nets with the blocks of well-known ones, each a small one of its kind."""

import numpy as np

from onnxruntime_cases_net import Net


def conv(net, x, inputs, outputs, kernel=3, group=1, bias=True, **attributes):
    """Keeps height and width unless told otherwise."""
    if "auto_pad" not in attributes:
        attributes.setdefault("pads", [kernel // 2] * 4)
    operands = [x, net.weight(outputs, inputs // group, kernel, kernel)]
    if bias:
        operands.append(net.small(outputs))
    return net.op("Conv", *operands, kernel_shape=[kernel, kernel], group=group, **attributes)


def batch_norm(net, x, channels):
    return net.op("BatchNormalization", x, net.positive(channels), net.small(channels), net.small(channels),
                  net.positive(channels), epsilon=1e-3)


def instance_norm(net, x, channels):
    return net.op("InstanceNormalization", x, net.positive(channels), net.small(channels), epsilon=1e-5)


def group_norm(net, x, channels, size, groups=4):
    """As exporters write it: instances of groups, then a scale for each channel."""
    parted = net.op("Reshape", x, net.ints(1, groups, -1))
    one, zero = net.constant(np.ones(groups), np.float32), net.constant(np.zeros(groups), np.float32)
    normed = net.op("InstanceNormalization", parted, one, zero)
    whole = net.op("Reshape", normed, net.ints(1, channels, size, size))
    return net.op("Add", net.op("Mul", whole, net.positive(channels, 1, 1)), net.small(channels, 1, 1))


def reflect(net, x, n):
    pads = [0, 0, n, n, 0, 0, n, n]
    if net.opset < 11:
        return net.op("Pad", x, mode="reflect", pads=pads)
    return net.op("Pad", x, net.ints(*pads), mode="reflect")


def resize_twice(net, x, **attributes):
    if net.opset < 11:
        return net.op("Upsample", x, net.constant([1, 1, 2, 2], np.float32), mode=attributes["mode"])
    if net.opset < 13:  # the region of interest may not be left out
        return net.op("Resize", x, net.constant([], np.float32), net.constant([1, 1, 2, 2], np.float32),
                      **attributes)
    return net.op("Resize", x, "", net.constant([1, 1, 2, 2], np.float32), **attributes)


def u_net(name, opset, up, norm):
    """Down twice and up twice; what went down is concatenated to what comes up."""
    size, channels = 32, (8, 16, 24)
    net = Net(name, opset)
    x = net.input("image", (1, 3, size, size))
    skips, inputs = [], 3
    for level, outputs in enumerate(channels):
        x = conv(net, reflect(net, x, 1), inputs, outputs, pads=[0] * 4)
        x = net.op("Relu", norm(net, x, outputs, size >> level))
        if level < 2:
            skips.append(x)
            x = net.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
        inputs = outputs
    for level in (1, 0):
        outputs = channels[level]
        x = net.op("Concat", up(net, x, inputs, outputs), skips[level], axis=1)
        x = net.op("LeakyRelu", norm(net, conv(net, x, 2 * outputs, outputs), outputs, size >> level),
                   alpha=0.1)
        inputs = outputs
    net.output(net.op("Sigmoid", conv(net, x, inputs, 1, kernel=1)), (1, 1, size, size), name="mask")
    return net


def up_by_transposed(net, x, inputs, outputs):
    return net.op("ConvTranspose", x, net.weight(inputs, outputs, 2, 2, fan_in=inputs), net.small(outputs),
                  kernel_shape=[2, 2], strides=[2, 2])


def up_by_overlapping(net, x, inputs, outputs):
    """Filters that overlap, in groups, with rows added at one end."""
    return net.op("ConvTranspose", x, net.weight(inputs, outputs // 4, 3, 3, fan_in=inputs),
                  kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1], group=4)


def up_by_resize(**attributes):
    return lambda net, x, inputs, outputs: conv(net, resize_twice(net, x, **attributes), inputs, outputs)


def hard_swish(net, x):
    if net.opset >= 14:
        return net.op("HardSwish", x)
    clipped = net.op("Clip", net.op("Add", x, net.real(3)), net.real(0), net.real(6))
    return net.op("Div", net.op("Mul", x, clipped), net.real(6))


def squeeze_excite(net, x, channels):
    pooled = net.op("GlobalAveragePool", x)
    squeezed = net.op("Relu", conv(net, pooled, channels, channels // 4, kernel=1))
    gate = net.op("HardSigmoid", conv(net, squeezed, channels // 4, channels, kernel=1), alpha=1 / 6, beta=0.5)
    return net.op("Mul", x, gate)


def inverted_residual(net, x, inputs, outputs, kernel, stride):
    """Wide in the middle, where each channel is filtered on its own."""
    wide = 4 * inputs
    y = hard_swish(net, batch_norm(net, conv(net, x, inputs, wide, kernel=1, bias=False), wide))
    y = conv(net, y, wide, wide, kernel=kernel, group=wide, bias=False, strides=[stride, stride])
    y = squeeze_excite(net, hard_swish(net, batch_norm(net, y, wide)), wide)
    y = batch_norm(net, conv(net, y, wide, outputs, kernel=1, bias=False), outputs)
    return net.op("Add", x, y) if stride == 1 and inputs == outputs else y


def mobile(name, opset):
    net = Net(name, opset)
    x = net.input("image", (1, 3, 48, 48))
    x = hard_swish(net, conv(net, x, 3, 8, strides=[2, 2]))
    x = inverted_residual(net, x, 8, 8, 3, 1)
    x = inverted_residual(net, x, 8, 16, 5, 2)
    x = inverted_residual(net, x, 16, 16, 5, 1)
    x = net.op("PRelu", conv(net, x, 16, 32, kernel=1), net.positive(32, 1, 1))
    x = net.op("Clip", x, net.real(0), net.real(6))
    x = net.op("Flatten", net.op("GlobalAveragePool", x), axis=1)
    x = hard_swish(net, net.op("Gemm", x, net.weight(40, 32), net.small(40), transB=1))
    x = net.op("Gemm", x, net.weight(40, 10, fan_in=40), net.small(10), alpha=0.5, beta=2.0)
    net.output(net.op("Softmax", x, axis=1), (1, 10), name="classes")
    return net


def shuffle_unit(net, x, channels, size):
    """Half of the channels go past; then both halves are shuffled."""
    half = channels // 2
    if net.opset >= 18:
        past, y = net.op("Split", x, results=2, axis=1, num_outputs=2)
    elif net.opset >= 13:
        past, y = net.op("Split", x, net.ints(half, half), results=2, axis=1)
    else:
        past, y = net.op("Split", x, results=2, axis=1, split=[half, half])
    y = net.op("Relu", conv(net, y, half, half, kernel=1))
    y = conv(net, y, half, half, group=half)
    y = net.op("Relu", conv(net, y, half, half, kernel=1, group=2))
    x = net.op("Concat", past, y, axis=1)
    x = net.op("Reshape", x, net.ints(1, 2, half, size, size))
    x = net.op("Transpose", x, perm=[0, 2, 1, 3, 4])
    return net.op("Reshape", x, net.ints(1, channels, size, size))


def shuffle(name, opset):
    net = Net(name, opset)
    x = net.input("image", (1, 3, 32, 32))
    x = net.op("MaxPool", net.op("Relu", conv(net, x, 3, 16, strides=[2, 2])), kernel_shape=[3, 3],
               strides=[2, 2], pads=[1, 1, 1, 1])
    for _ in range(3):
        x = shuffle_unit(net, x, 16, 8)
    x = net.op("ReduceMean", x, net.ints(2, 3), keepdims=0) if opset >= 18 else \
        net.op("ReduceMean", x, axes=[2, 3], keepdims=0)
    net.output(net.op("LogSoftmax", net.op("MatMul", x, net.weight(16, 10, fan_in=16)), axis=-1), (1, 10),
               name="classes")
    return net


def dense_block(opset=9):
    """Every layer reads all before it. Operators as they were when the standard was young."""
    net = Net("ort_dense", opset)
    x = net.input("image", (2, 3, 32, 32))
    x = net.op("LRN", net.op("Relu", conv(net, x, 3, 12)), size=5, alpha=1e-3, beta=0.75, bias=1.0)
    x = net.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER")
    channels, growth = 12, 6
    for block in range(2):
        for _ in range(4):
            y = net.op("Relu", batch_norm(net, x, channels))
            y = net.op("Relu", batch_norm(net, conv(net, y, channels, 2 * growth, kernel=1), 2 * growth))
            y = conv(net, y, 2 * growth, growth)
            x = net.op("Concat", x, net.op("Dropout", y, ratio=0.2), axis=1)
            channels += growth
        if block == 0:
            x = conv(net, batch_norm(net, x, channels), channels, channels // 2, kernel=1)
            channels //= 2
            x = net.op("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = net.op("Clip", net.op("GlobalMaxPool", net.op("Elu", batch_norm(net, x, channels))), min=-1.0, max=4.0)
    x = net.op("Reshape", x, net.ints(2, -1))
    x = net.op("Gemm", x, net.weight(10, channels), net.small(10), transB=1)
    net.output(net.op("Softmax", x, axis=1), (2, 10), name="classes")
    return net


def windows(opset=13):
    """Convolutions and pools at the edges: strides, dilations, uneven padding, one and three dimensions."""
    net = Net("ort_windows", opset)
    image = net.input("image", (2, 4, 13, 11))
    line = net.input("line", (2, 4, 19))
    volume = net.input("volume", (1, 2, 5, 6, 7))
    results = {
        "dilated": (conv(net, image, 4, 6, dilations=[2, 3], pads=[2, 3, 2, 3]), (2, 6, 13, 11)),
        "uneven": (conv(net, image, 4, 6, strides=[2, 3], pads=[0, 1, 2, 0]), (2, 6, 7, 4)),
        "lower": (conv(net, image, 4, 8, group=2, strides=[2, 2], auto_pad="SAME_LOWER"), (2, 8, 7, 6)),
        "valid": (conv(net, image, 4, 6, kernel=5, auto_pad="VALID"), (2, 6, 9, 7)),
        "deeper": (conv(net, image, 4, 12, group=4, bias=False), (2, 12, 13, 11)),
        "line_conv": (net.op("Conv", line, net.weight(6, 2, 4), net.small(6), group=2, strides=[2],
                             pads=[1, 2]), (2, 6, 10)),
        "volume_conv": (net.op("Conv", volume, net.weight(3, 2, 2, 3, 3), pads=[0, 1, 1, 1, 1, 1]),
                        (1, 3, 5, 6, 7)),
        "most": (net.op("MaxPool", image, kernel_shape=[3, 2], strides=[2, 2], ceil_mode=1), (2, 4, 6, 6)),
        "most_dilated": (net.op("MaxPool", image, kernel_shape=[3, 3], dilations=[2, 2], pads=[1, 1, 1, 1]),
                         (2, 4, 11, 9)),
        "mean": (net.op("AveragePool", image, kernel_shape=[3, 3], pads=[1, 1, 1, 1]), (2, 4, 13, 11)),
        "mean_padded": (net.op("AveragePool", image, kernel_shape=[3, 4], strides=[2, 2], pads=[1, 2, 0, 1],
                               count_include_pad=1), (2, 4, 6, 6)),
        "volume_mean": (net.op("AveragePool", volume, kernel_shape=[2, 2, 2], auto_pad="SAME_UPPER",
                               strides=[2, 2, 2]), (1, 2, 3, 3, 4)),
        "power": (net.op("LpPool", image, kernel_shape=[3, 3], strides=[2, 2], p=2), (2, 4, 6, 5)),
        "transposed_line": (net.op("ConvTranspose", line, net.weight(4, 3, 4, fan_in=12), net.small(3),
                                   strides=[3], pads=[1, 1], dilations=[2]), (2, 3, 59)),
        "depth": (net.op("DepthToSpace", image, blocksize=2, mode="CRD"), (2, 1, 26, 22)),
        "space": (net.op("SpaceToDepth", net.op("Slice", image, net.ints(1, 0), net.ints(13, 10),
                                                net.ints(2, 3)), blocksize=2), (2, 16, 6, 5)),
    }
    for name, (value, shape) in results.items():
        net.output(value, shape, name=name)
    values, places = net.op("MaxPool", image, results=2, kernel_shape=[2, 2], strides=[2, 2])
    net.output(values, (2, 4, 6, 5), name="largest")
    net.output(places, (2, 4, 6, 5), np.int64, name="places")
    return net


def ceiled(opset):
    """Pools whose last windows hang over the end; those that would begin behind the input are none."""
    net = Net(f"ort_ceiled_{opset}", opset)
    size = (10, 7)
    image = net.input("image", (2, 3, *size))
    forms = [
        dict(kernel_shape=[2, 2], strides=[2, 2], pads=[0, 0, 1, 1]),
        dict(kernel_shape=[3, 2], strides=[4, 3], pads=[1, 0, 2, 1]),
        dict(kernel_shape=[1, 2], strides=[3, 4], pads=[0, 1, 0, 1]),
        dict(kernel_shape=[2, 3], strides=[3, 3], auto_pad="VALID"),
    ]
    if opset >= 19:
        forms.append(dict(kernel_shape=[2, 3], strides=[4, 3], pads=[1, 2, 1, 2], dilations=[2, 3]))
    for number, form in enumerate(forms):
        begins = form.get("pads", [0] * 4)
        places = []
        for axis, extent in enumerate(size):
            reach = (form["kernel_shape"][axis] - 1) * form.get("dilations", [1, 1])[axis] + 1
            stride = form["strides"][axis]
            most = -(-(extent + begins[axis] + begins[axis + 2] - reach) // stride) + 1
            places.append(min(most, -(-(extent + begins[axis]) // stride)))
        for operator in ["MaxPool", "AveragePool"] + ["LpPool"] * (opset >= 18):
            for counted in range(1 + (operator == "AveragePool")):
                own = dict(form, ceil_mode=1) | (dict(count_include_pad=1) if counted else {})
                net.output(net.op(operator, image, **own), (2, 3, *places),
                           name=f"{operator.lower()}_{number}_{counted}")
    return net


def resizes(opset=13):
    net = Net("ort_resizes", opset)
    image = net.input("image", (1, 2, 7, 6))
    modes = {
        "floor": ((1, 2, 11, 4), {"mode": "nearest", "nearest_mode": "floor",
                                  "coordinate_transformation_mode": "asymmetric"}),
        "half": ((1, 2, 10, 9), {"mode": "nearest", "nearest_mode": "round_prefer_ceil"}),
        "corners": ((1, 2, 14, 3), {"mode": "linear", "coordinate_transformation_mode": "align_corners"}),
        "centres": ((1, 2, 4, 13), {"mode": "linear"}),
        "torch": ((1, 2, 1, 13), {"mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"}),
        "cubic": ((1, 2, 9, 12), {"mode": "cubic", "cubic_coeff_a": -0.5}),
    }
    for name, (shape, attributes) in modes.items():
        net.output(net.op("Resize", image, "", "", net.ints(*shape), **attributes), shape, name=name)
    net.output(net.op("Pad", image, net.ints(0, 1, 2, 0, 0, 0, 1, 3), net.real(0.25), mode="constant"),
               (1, 3, 10, 9), name="framed")
    net.output(net.op("Pad", image, net.ints(0, 0, 2, 1, 0, 1, 3, 0), mode="edge"), (1, 3, 12, 7), name="edged")
    return net


def nets():
    yield u_net("ort_unet_transposed", 13, up_by_transposed, lambda net, x, c, s: instance_norm(net, x, c))
    yield u_net("ort_unet_overlapping", 17, up_by_overlapping, group_norm)
    yield u_net("ort_unet_nearest", 11, up_by_resize(
        mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
        lambda net, x, c, s: batch_norm(net, x, c))
    yield u_net("ort_unet_linear", 17, up_by_resize(mode="linear"), group_norm)
    yield u_net("ort_unet_upsample", 9, up_by_resize(mode="nearest"),
                lambda net, x, c, s: instance_norm(net, x, c))
    yield mobile("ort_mobile", 17)
    yield mobile("ort_mobile_decomposed", 11)
    yield shuffle("ort_shuffle", 20)
    yield shuffle("ort_shuffle_11", 11)
    yield dense_block()
    yield windows()
    yield ceiled(11)
    yield ceiled(17)
    yield ceiled(22)
    yield resizes()
