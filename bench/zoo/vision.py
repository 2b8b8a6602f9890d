"""Networks of images that people designed, from their papers."""

from net import Net


def conv_bn(net, x, channels, kernel=1, stride=1, act="relu", groups=1):
    x = net.bn(net.conv(x, channels, kernel, stride, groups=groups, bias=False))
    return activate(net, x, act)


def activate(net, x, act):
    if act == "relu":
        return net.relu(x)
    if act == "relu6":
        return net.add("Clip", [x, zero(net), six(net)], net.shapes[x])
    if act == "silu":
        return net.silu(x)
    if act == "hswish":
        return net.mul(x, hard_sigmoid(net, x))
    return x


def scalar(net, name, value):
    import numpy
    from onnx import numpy_helper
    if name not in net.constants:
        net.constants[name] = name
        net.initializers.append(numpy_helper.from_array(numpy.array(value, numpy.float32), name))
    return name


def zero(net):
    return scalar(net, "zero", 0)


def six(net):
    return scalar(net, "six", 6)


def hard_sigmoid(net, x):
    return net.unary("HardSigmoid", x, alpha=1 / 6, beta=0.5)


def image(name, size=224, channels=3):
    net = Net(name)
    return net, net.input("x", (1, channels, size, size))


# He et al., "Deep residual learning for image recognition" (2016).
def resnet_block(net, x, channels, stride, bottleneck):
    out = channels * (4 if bottleneck else 1)
    if bottleneck:
        y = conv_bn(net, conv_bn(net, x, channels), channels, 3, stride)
        y = conv_bn(net, y, out, act=None)
    else:
        y = conv_bn(net, conv_bn(net, x, channels, 3, stride), out, 3, act=None)
    if stride != 1 or net.shapes[x][1] != out:
        x = conv_bn(net, x, out, 1, stride, act=None)
    return net.relu(net.plus(y, x))


def resnet(name, blocks, bottleneck):
    net, x = image(name)
    x = net.max_pool(conv_bn(net, x, 64, 7, 2), 3, 2)
    for stage, count in enumerate(blocks):
        for block in range(count):
            x = resnet_block(net, x, 64 * 2**stage, 2 if stage and not block else 1, bottleneck)
    net.output(net.classifier(x, 1000))
    return net


# Szegedy et al., "Rethinking the Inception architecture for computer vision" (2016), as in torchvision.
def inception_v3(name):
    net, x = image(name, 299)

    def basic(y, channels, kernel=1, stride=1, pad=None):
        return net.relu(net.bn(net.conv(y, channels, kernel, stride, pad=pad, bias=False)))

    x = basic(x, 32, 3, 2, pad=0)
    x = basic(basic(x, 32, 3, pad=0), 64, 3)
    x = net.max_pool(x, 3, 2, pad=0)
    x = basic(basic(x, 80), 192, 3, pad=0)
    x = net.max_pool(x, 3, 2, pad=0)
    for pooled in (32, 64, 64):
        a = basic(x, 64)
        b = basic(basic(x, 48), 64, 5)
        c = basic(basic(basic(x, 64), 96, 3), 96, 3)
        x = net.concat([a, b, c, basic(net.avg_pool(x, 3), pooled)])
    a = basic(x, 384, 3, 2, pad=0)
    b = basic(basic(basic(x, 64), 96, 3), 96, 3, 2, pad=0)
    x = net.concat([a, b, net.max_pool(x, 3, 2, pad=0)])
    for c7 in (128, 160, 160, 192):
        a = basic(x, 192)
        b = basic(basic(basic(x, c7), c7, (1, 7)), 192, (7, 1))
        c = x
        for kernel, channels in ((1, c7), ((7, 1), c7), ((1, 7), c7), ((7, 1), c7), ((1, 7), 192)):
            c = basic(c, channels, kernel)
        x = net.concat([a, b, c, basic(net.avg_pool(x, 3), 192)])
    a = basic(basic(x, 192), 320, 3, 2, pad=0)
    b = basic(basic(basic(basic(x, 192), 192, (1, 7)), 192, (7, 1)), 192, 3, 2, pad=0)
    x = net.concat([a, b, net.max_pool(x, 3, 2, pad=0)])
    for _ in range(2):
        a = basic(x, 320)
        b = basic(x, 384)
        b = net.concat([basic(b, 384, (1, 3)), basic(b, 384, (3, 1))])
        c = basic(basic(x, 448), 384, 3)
        c = net.concat([basic(c, 384, (1, 3)), basic(c, 384, (3, 1))])
        x = net.concat([a, b, c, basic(net.avg_pool(x, 3), 192)])
    net.output(net.classifier(x, 1000))
    return net


# Huang et al., "Densely connected convolutional networks" (2017).
def densenet_121(name):
    net, x = image(name)
    x = net.max_pool(conv_bn(net, x, 64, 7, 2), 3, 2)
    blocks = (6, 12, 24, 16)
    for i, count in enumerate(blocks):
        for _ in range(count):
            y = net.conv(net.relu(net.bn(x)), 128, bias=False)
            x = net.concat([x, net.conv(net.relu(net.bn(y)), 32, 3, bias=False)])
        x = net.relu(net.bn(x))
        if i + 1 < len(blocks):
            x = net.avg_pool(net.conv(x, net.shapes[x][1] // 2, bias=False), 2, 2, pad=0)
    net.output(net.classifier(x, 1000))
    return net


# Howard et al. (2017); Sandler et al. (2018); Howard et al. (2019).
def mobilenet_v1(name):
    net, x = image(name)
    x = conv_bn(net, x, 32, 3, 2)
    for channels, stride in ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1), (512, 1), (512, 1),
                             (512, 1), (512, 1), (1024, 2), (1024, 1)):
        x = conv_bn(net, conv_bn(net, x, net.shapes[x][1], 3, stride, groups=net.shapes[x][1]), channels)
    net.output(net.classifier(x, 1000))
    return net


def squeeze(net, x, channels, first, second):
    y = net.global_pool(x)
    y = activate(net, net.conv(y, channels), first)
    y = net.conv(y, net.shapes[x][1])
    return net.mul(x, hard_sigmoid(net, y) if second == "hard" else net.sigmoid(y))


def inverted(net, x, channels, kernel, stride, expanded, act, se=None):
    y = conv_bn(net, x, expanded, act=act) if expanded != net.shapes[x][1] else x
    y = conv_bn(net, y, expanded, kernel, stride, act, groups=expanded)
    if se:
        y = squeeze(net, y, *se)
    y = conv_bn(net, y, channels, act=None)
    return net.plus(x, y) if stride == 1 and net.shapes[x] == net.shapes[y] else y


def mobilenet_v2(name):
    net, x = image(name)
    x = conv_bn(net, x, 32, 3, 2, "relu6")
    for factor, channels, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                            (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(count):
            x = inverted(net, x, channels, 3, stride if i == 0 else 1, factor * net.shapes[x][1], "relu6")
    net.output(net.classifier(conv_bn(net, x, 1280, act="relu6"), 1000))
    return net


def mobilenet_v3_large(name):
    net, x = image(name)
    x = conv_bn(net, x, 16, 3, 2, "hswish")
    for kernel, expanded, channels, se, act, stride in (
            (3, 16, 16, 0, "relu", 1), (3, 64, 24, 0, "relu", 2), (3, 72, 24, 0, "relu", 1), (5, 72, 40, 1, "relu", 2),
            (5, 120, 40, 1, "relu", 1), (5, 120, 40, 1, "relu", 1), (3, 240, 80, 0, "hswish", 2),
            (3, 200, 80, 0, "hswish", 1), (3, 184, 80, 0, "hswish", 1), (3, 184, 80, 0, "hswish", 1),
            (3, 480, 112, 1, "hswish", 1), (3, 672, 112, 1, "hswish", 1), (5, 672, 160, 1, "hswish", 2),
            (5, 960, 160, 1, "hswish", 1), (5, 960, 160, 1, "hswish", 1)):
        reduced = (expanded // 4 + 7) // 8 * 8
        x = inverted(net, x, channels, kernel, stride, expanded, act, (reduced, "relu", "hard") if se else None)
    net.output(net.classifier(conv_bn(net, x, 960, act="hswish"), 1000))
    return net


# Tan, Le, "EfficientNet" (2019).
def efficientnet_b0(name):
    net, x = image(name)
    x = conv_bn(net, x, 32, 3, 2, "silu")
    for factor, channels, count, stride, kernel in ((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5),
                                                    (6, 80, 3, 2, 3), (6, 112, 3, 1, 5), (6, 192, 4, 2, 5),
                                                    (6, 320, 1, 1, 3)):
        for i in range(count):
            width = net.shapes[x][1]
            x = inverted(net, x, channels, kernel, stride if i == 0 else 1, factor * width, "silu",
                         (max(1, width // 4), "silu", "sigmoid"))
    net.output(net.classifier(conv_bn(net, x, 1280, act="silu"), 1000))
    return net


def double_conv(net, x, channels):
    return conv_bn(net, conv_bn(net, x, channels, 3), channels, 3)


# Ronneberger et al., "U-Net" (2015), with padding and nearest upsampling; Zhou et al., "UNet++" (2018).
def unet(name, size=256, width=64, depth=5):
    net, x = image(name, size)
    levels = [double_conv(net, x, width)]
    for level in range(1, depth):
        levels.append(double_conv(net, net.max_pool(levels[-1], 2, 2, pad=0), width * 2**level))
    y = levels.pop()
    for skip in reversed(levels):
        channels = net.shapes[skip][1]
        y = double_conv(net, net.concat([skip, net.conv(net.upsample(y, 2), channels)]), channels)
    net.output(net.conv(y, 2))
    return net


def unet_plus_plus(name, size=256, width=32, depth=5):
    net, x = image(name, size)
    grid = [[double_conv(net, x, width)]]
    for level in range(1, depth):
        grid.append([double_conv(net, net.max_pool(grid[level - 1][0], 2, 2, pad=0), width * 2**level)])
    for column in range(1, depth):
        for level in range(depth - column):
            y = net.upsample(grid[level + 1][column - 1], 2)
            grid[level].append(double_conv(net, net.concat(grid[level] + [y]), width * 2**level))
    net.output(net.conv(grid[0][-1], 2))
    return net


# Sun et al., "Deep high-resolution representation learning" (2019), W18 with one module per stage but the last.
def hrnet(name, width=18):
    net, x = image(name)
    x = conv_bn(net, conv_bn(net, x, 64, 3, 2), 64, 3, 2)
    for _ in range(4):
        x = resnet_block(net, x, 64, 1, True)
    branches = [x]
    for stage, modules in ((2, 1), (3, 4), (4, 3)):
        last = branches[-1]
        branches = [conv_bn(net, b, width * 2**i, 3) if net.shapes[b][1] != width * 2**i else b
                    for i, b in enumerate(branches)]
        branches.append(conv_bn(net, last, width * 2 ** (stage - 1), 3, 2))
        for _ in range(modules):
            for i in range(stage):
                for _ in range(4):
                    branches[i] = resnet_block(net, branches[i], width * 2**i, 1, False)
            branches = [fuse(net, branches, i, width) for i in range(stage)]
    y = branches[0]
    y = net.concat([y] + [net.upsample(b, 2 ** (i + 1)) for i, b in enumerate(branches[1:])])
    net.output(net.conv(conv_bn(net, y, net.shapes[y][1]), 19))
    return net


def fuse(net, branches, to, width):
    terms = []
    for i, branch in enumerate(branches):
        if i > to:
            branch = net.upsample(conv_bn(net, branch, width * 2**to, act=None), 2 ** (i - to))
        for step in range(i, to):
            last = step + 1 == to
            branch = conv_bn(net, branch, width * 2 ** (to if last else i), 3, 2, act=None if last else "relu")
        terms.append(branch)
    total = terms[0]
    for term in terms[1:]:
        total = net.plus(total, term)
    return net.relu(total)


# Tan et al., "EfficientDet" (2020): three BiFPN layers over five levels.
def bifpn(name, channels=64, layers=3):
    net = Net(name)
    sizes = (64, 32, 16, 8, 4)
    levels = [net.conv(net.input(f"p{i + 3}", (1, 40 * (i + 1), s, s)), channels) for i, s in enumerate(sizes)]

    def node(*terms):
        total = net.mul(terms[0], net.weight(1))
        for term in terms[1:]:
            total = net.plus(total, net.mul(term, net.weight(1)))
        y = net.conv(net.silu(total), channels, 3, groups=channels, bias=False)
        return net.bn(net.conv(y, channels))

    for _ in range(layers):
        middle = list(levels)
        for i in range(3, -1, -1):
            middle[i] = node(levels[i], net.upsample(middle[i + 1], 2))
        out = [middle[0]]
        for i in range(1, 5):
            below = net.max_pool(out[-1], 3, 2)
            out.append(node(levels[i], middle[i], below) if i < 4 else node(levels[i], below))
        levels = out
    for level in levels:
        net.output(level)
    return net


# The denoiser of Ho et al., "Denoising diffusion probabilistic models" (2020), smaller: residual blocks with a time
# embedding, attention at one resolution, skips from every block.
def diffusion_unet(name, size=64, width=64):
    net, x = image(name, size)
    time = net.silu(net.gemm(net.silu(net.gemm(net.input("time", (1, width)), 4 * width)), 4 * width))

    def block(y, channels):
        h = net.conv(net.silu(group_norm(net, y)), channels, 3)
        t = net.reshape(net.gemm(time, channels), (1, channels, 1, 1))
        h = net.conv(net.silu(group_norm(net, net.plus(h, t))), channels, 3)
        return net.plus(h, net.conv(y, channels) if net.shapes[y][1] != channels else y)

    def attention(y):
        n, c, h, w = net.shapes[y]
        q, k, v = (net.reshape(net.conv(group_norm(net, y), c), (n, c, h * w)) for _ in range(3))
        scores = net.softmax(net.matmul(net.transpose(q, (0, 2, 1)), k))
        mixed = net.matmul(v, net.transpose(scores, (0, 2, 1)))
        return net.plus(y, net.conv(net.reshape(mixed, (n, c, h, w)), c))

    y = net.conv(x, width, 3)
    skips = [y]
    for level, factor in enumerate((1, 2, 2, 4)):
        for _ in range(2):
            y = block(y, width * factor)
            y = attention(y) if level == 2 else y
            skips.append(y)
        if level < 3:
            y = net.conv(y, net.shapes[y][1], 3, 2)
            skips.append(y)
    y = block(attention(block(y, width * 4)), width * 4)
    for level, factor in reversed(list(enumerate((1, 2, 2, 4)))):
        for _ in range(3):
            y = block(net.concat([y, skips.pop()]), width * factor)
            y = attention(y) if level == 2 else y
        if level > 0:
            y = net.conv(net.upsample(y, 2), net.shapes[y][1], 3)
    net.output(net.conv(net.silu(group_norm(net, y)), 3, 3))
    return net


def group_norm(net, x):
    """As exporters write it: an instance normalization of groups, then scale and bias."""
    n, c, h, w = net.shapes[x]
    y = net.reshape(x, (n, 32, c // 32 * h * w))
    y = net.add("InstanceNormalization", [y, net.weight(32, value=1.0), net.weight(32)], net.shapes[y])
    y = net.reshape(y, (n, c, h, w))
    y = net.add("Mul", [y, net.weight(1, c, 1, 1)], (n, c, h, w))
    return net.add("Add", [y, net.weight(1, c, 1, 1)], (n, c, h, w))


def networks():
    yield resnet("resnet18", (2, 2, 2, 2), False)
    yield resnet("resnet50", (3, 4, 6, 3), True)
    yield inception_v3("inception_v3")
    yield densenet_121("densenet121")
    yield mobilenet_v1("mobilenet_v1")
    yield mobilenet_v2("mobilenet_v2")
    yield mobilenet_v3_large("mobilenet_v3")
    yield efficientnet_b0("efficientnet_b0")
    yield unet("unet")
    yield unet_plus_plus("unet_plus_plus")
    yield hrnet("hrnet_w18")
    yield bifpn("bifpn")
    yield diffusion_unet("diffusion_unet")
