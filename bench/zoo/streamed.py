"""Networks that are planned row by row: as published, with batch normalisation folded into the convolutions, and
with the padding of TensorFlow where they come from there."""

from net import Net
from sequence import attend, feed_forward, heads_of
from vision import activate, image


def conv(net, x, channels, kernel=1, stride=1, act=None, groups=1, pad="same"):
    return activate(net, net.conv(x, channels, kernel, stride, groups=groups, pad=pad), act)


def separable(net, x, wide, channels, kernel, stride, act):
    y = conv(net, x, wide, kernel, stride, act, groups=wide)
    return conv(net, y, channels)


# Howard et al. (2017).
def mobilenet_v1(name):
    net, x = image(name)
    x = conv(net, x, 32, 3, 2, "relu6")
    for channels, stride in ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1), (512, 1), (512, 1),
                             (512, 1), (512, 1), (1024, 2), (1024, 1)):
        x = activate(net, separable(net, x, net.shapes[x][1], channels, 3, stride, "relu6"), "relu6")
    net.output(net.classifier(x, 1000))
    return net


# Sandler et al. (2018); narrow and without residuals as in Lin et al., "MCUNetV2" (2021).
def mobilenet_v2(name, size, widths, has_residuals):
    net, x = image(name, size)
    x = conv(net, x, widths[0], 3, 2, "relu6")
    for factor, channels, count, stride in zip((1, 6, 6, 6, 6, 6, 6), widths[1:8], (1, 2, 3, 4, 3, 3, 1),
                                               (1, 2, 2, 2, 1, 2, 1)):
        for i in range(count):
            wide = factor * net.shapes[x][1]
            y = conv(net, x, wide, act="relu6") if factor > 1 else x
            y = separable(net, y, wide, channels, 3, stride if i == 0 else 1, "relu6")
            x = net.plus(x, y) if has_residuals and net.shapes[x] == net.shapes[y] else y
    net.output(net.classifier(conv(net, x, widths[8], act="relu6"), 1000))
    return net


# He et al. (2016).
def resnet_50(name):
    net, x = image(name)
    x = net.max_pool(conv(net, x, 64, 7, 2, "relu", pad=3), 3, 2, 1)
    for channels, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(count):
            step = stride if i == 0 else 1
            y = conv(net, conv(net, x, channels, 1, step, "relu"), channels, 3, 1, "relu", pad=1)
            y = conv(net, y, 4 * channels)
            short = conv(net, x, 4 * channels, 1, step) if i == 0 else x
            x = net.relu(net.plus(y, short))
    net.output(net.classifier(x, 1000))
    return net


# Tan, Le (2019).
def efficientnet_b0(name):
    net, x = image(name)
    x = conv(net, x, 32, 3, 2, "silu")
    for factor, channels, count, stride, kernel in ((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5),
                                                    (6, 80, 3, 2, 3), (6, 112, 3, 1, 5), (6, 192, 4, 2, 5),
                                                    (6, 320, 1, 1, 3)):
        for i in range(count):
            width = net.shapes[x][1]
            wide = factor * width
            y = conv(net, x, wide, act="silu") if factor > 1 else x
            y = conv(net, y, wide, kernel, stride if i == 0 else 1, "silu", groups=wide)
            gate = conv(net, conv(net, net.global_pool(y), max(1, width // 4), act="silu"), wide)
            y = conv(net, net.mul(y, net.sigmoid(gate)), channels)
            x = net.plus(x, y) if net.shapes[x] == net.shapes[y] else y
    net.output(net.classifier(conv(net, x, 1280, act="silu"), 1000))
    return net


# Ronneberger et al. (2015), with padding.
def unet(name, size=256, width=64, depth=5):
    def double(x, channels):
        return conv(net, conv(net, x, channels, 3, 1, "relu"), channels, 3, 1, "relu")
    net, x = image(name, size)
    skips = []
    for level in range(depth):
        x = double(x if level == 0 else net.max_pool(x, 2, 2, 0), width << level)
        skips.append(x)
    for level in reversed(range(depth - 1)):
        up = conv(net, net.upsample(x, 2), width << level, 3)
        x = double(net.concat([skips[level], up]), width << level)
    net.output(conv(net, x, 2))
    return net


# Vaswani et al., "Attention is all you need" (2017), normalised in front of each part.
def encoder(name, layers, length=512, width=768, heads=12):
    net = Net(name)
    x = net.input("x", (1, length, width))
    for _ in range(layers):
        normal = net.layer_norm(x)
        q, k, v = (heads_of(net, net.linear(normal, width), heads) for _ in range(3))
        x = net.plus(x, net.linear(attend(net, q, k, v), width))
        x = net.plus(x, feed_forward(net, net.layer_norm(x), width))
    net.output(x)
    return net


def encoder_by_heads(name, length=512, width=768, heads=12):
    """Every head is a part of the network of its own, as exporters write it that unroll them; what they give is
    projected and added up one by one."""
    net = Net(name)
    x = net.input("x", (1, length, width))
    normal = net.layer_norm(x)
    mixed = None
    for _ in range(heads):
        q, k, v = (net.linear(normal, width // heads) for _ in range(3))
        scores = net.matmul(q, net.transpose(k, (0, 2, 1)))
        scores = net.add("Div", [scores, net.weight(1, value=8.0)], net.shapes[scores])
        part = net.linear(net.matmul(net.softmax(scores), v), width)
        mixed = part if mixed is None else net.plus(mixed, part)
    x = net.plus(x, mixed)
    net.output(net.plus(x, feed_forward(net, net.layer_norm(x), width)))
    return net


def line(name):
    """A signal of one row, as an image: only its columns can stream."""
    net = Net(name)
    x = net.input("x", (1, 8, 1, 4096))
    for _ in range(4):
        x = conv(net, x, 8, (1, 3), act="relu", pad=None)
    net.output(x)
    return net


def wide(name):
    """An image that is much wider than high, such as a line scan: columns are smaller than rows."""
    net = Net(name)
    x = net.input("x", (1, 1, 16, 1024))
    for channels in (5, 5, 5, 1):
        x = conv(net, x, channels, 3, act="relu", pad=None)
    net.output(x)
    return net


def style(name, size=224):
    """An image in another style (J. Johnson and others, 2016), every convolution with an instance normalization."""
    net = Net(name)

    def block(x, channels, kernel, stride=1, is_last=False):
        x = conv(net, x, channels, kernel, stride, pad=None)
        c = net.shapes[x][1]
        x = net.add("InstanceNormalization", [x, net.weight(c, value=1.0), net.weight(c)], net.shapes[x])
        return x if is_last else net.relu(x)

    x = block(net.input("x", (1, 3, size, size)), 32, 9)
    x = block(block(x, 64, 3, 2), 128, 3, 2)
    for _ in range(5):
        x = net.plus(x, block(block(x, 128, 3), 128, 3, is_last=True))
    x = block(net.upsample(x, 2), 64, 3)
    x = block(net.upsample(x, 2), 32, 3)
    net.output(conv(net, x, 3, 9, pad=None))
    return net


def speech(name, steps=1000, width=80, hidden=256, direction="forward"):
    """Three LSTMs over the steps of a sequence, as in recognition of speech, and a layer of letters."""
    net = Net(name)
    x = net.input("x", (steps, 1, width))
    for _ in range(3):
        inputs = net.shapes[x][2]
        x = net.add("LSTM", [x, net.weight(1, 4 * hidden, inputs), net.weight(1, 4 * hidden, hidden)],
                    (steps, 1, 1, hidden), hidden_size=hidden, direction=direction)
        x = net.reshape(x, (steps, 1, hidden))
    net.output(net.softmax(net.linear(x, 29)))
    return net


def keywords(name, steps=1000, width=64):
    """Words in a signal of any length: dilated convolutions that look back, up to 8 steps, and numbers for each step."""
    net = Net(name)

    def mix(x, channels):
        inputs = net.shapes[x][1]
        return net.add("Conv", [x, net.weight(channels, inputs, 1), net.weight(channels)], (1, channels, steps))

    x = net.relu(mix(net.input("x", (1, 40, steps)), width))
    for far in (1, 2, 4, 8, 1, 2, 4, 8):
        y = net.add("Conv", [x, net.weight(width, 1, 3), net.weight(width)], (1, width, steps), group=width,
                    dilations=[far], pads=[2 * far, 0])
        x = net.plus(x, net.relu(mix(y, width)))
    net.output(net.add("Sigmoid", [mix(x, 12)], (1, 12, steps)))
    return of_any_size(net, 2, "samples")


def of_any_size(net, axis, name):
    """An axis of the input has any size; what follows from it is not declared."""
    net.shapes = {}
    net.inputs[0].type.tensor_type.shape.dim[axis].dim_param = name
    for output in net.outputs:
        for extent in output.type.tensor_type.shape.dim:
            extent.ClearField("dim_value")
    return net


def networks():
    yield mobilenet_v1("stream_mobilenet_v1")
    yield of_any_size(mobilenet_v1("stream_any_height"), 2, "height")
    yield keywords("stream_any_length")
    yield mobilenet_v2("stream_mobilenet_v2", 224, (32, 16, 24, 32, 64, 96, 160, 320, 1280), True)
    yield mobilenet_v2("stream_mobilenet_v2_w035", 144, (11, 5, 8, 11, 22, 33, 56, 112, 448), False)
    yield resnet_50("stream_resnet50")
    yield efficientnet_b0("stream_efficientnet_b0")
    yield unet("stream_unet")
    yield encoder("stream_encoder_layer", 1)
    yield encoder_by_heads("stream_encoder_by_heads")
    yield encoder("stream_encoder_12_layers", 12)
    yield line("stream_line")
    yield wide("stream_wide")
    yield style("stream_style")
    yield speech("stream_speech")
    yield speech("stream_speech_reverse", direction="reverse")
