"""Training steps: a network of images forward, then backward with operators of ONNX. What matters here is which
tensors live when, so some things are simpler than in a trainer: normalizations are those of inference, the gradient
of a maximum is taken where values are positive, that of a convolution's weight is a sum of the right size over the
right tensors, and every weight's gradient is read by an operator that leaves nothing, as if an optimizer used it up
at once. A batch has one image."""

import nas
import vision


class Gradients:
    def __init__(self, net):
        self.net = net
        self.terms = {}  # per tensor: gradients from its readers

    def add(self, tensor, gradient):
        if tensor in self.net.shapes:
            self.terms.setdefault(tensor, []).append(gradient)

    def take(self, tensor):
        terms = self.terms.pop(tensor)
        total = terms[0]
        for term in terms[1:]:
            total = self.net.plus(total, term)
        return total

    def use_up(self, gradient):
        self.net.output(self.net.slice(gradient, 0, 0, 0))


def attribute(node, name):
    value = next(a for a in node.attribute if a.name == name)
    return list(value.ints) if value.ints else value.i


def spread(net, y, like, kernel, stride, pad):
    """Sends every element of y to where its window in `like` was."""
    n, c, h, w = net.shapes[like]
    size = [(s - 1) * stride[0] + kernel[i] - 2 * pad[i] for i, s in enumerate(net.shapes[y][2:])]
    return net.add("ConvTranspose", [y, net.weight(c, 1, *kernel)], (n, c, h, w), kernel_shape=kernel, strides=stride,
                   pads=pad + pad, group=c, output_padding=[h - size[0], w - size[1]])


def conv(net, gradients, node, y):
    x, weight = node.input[:2]
    kernel, stride = attribute(node, "kernel_shape"), attribute(node, "strides")
    pad, groups = attribute(node, "pads")[:2], attribute(node, "group")
    dilation = attribute(node, "dilations")
    n, c, h, w = net.shapes[x]
    out, out_h, out_w = net.shapes[y][1:]
    if x in gradients.wanted:
        reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel)]
        size = [(s - 1) * stride[i] + reach[i] - 2 * pad[i] for i, s in enumerate((out_h, out_w))]
        gradients.add(x, net.add("ConvTranspose", [y, weight], (n, c, h, w), kernel_shape=kernel, strides=stride,
                                 pads=pad + pad, group=groups, dilations=dilation,
                                 output_padding=[h - size[0], w - size[1]]))
    # The weight's gradient, of its size and from what it is computed of.
    depthwise = groups > 1
    shape = (c, *kernel) if depthwise else (out, c, *kernel)
    equation = "nchw,ncpq,kl->ckl" if depthwise else "nchw,nopq,kl->ockl"
    gradients.use_up(net.add("Einsum", [x, y, net.weight(*kernel)], shape, equation=equation))


def relu_gradient(net, gradients, node, y):
    gradients.add(node.input[0], net.mul(y, net.unary("Sign", node.output[0])))


def normalize(net, gradients, node, y):
    gradients.use_up(net.add("ReduceSum", [y, net.ints([0, 2, 3])], (1, net.shapes[y][1], 1, 1)))
    scale = net.weight(1, net.shapes[y][1], 1, 1, value=1.0)
    gradients.add(node.input[0], net.add("Mul", [y, scale], net.shapes[y]))


def average(net, gradients, node, y):
    kernel, stride, pad = (attribute(node, a) for a in ("kernel_shape", "strides", "pads"))
    gradients.add(node.input[0], spread(net, y, node.input[0], kernel, stride, pad[:2]))


def maximum(net, gradients, node, y):
    kernel, stride, pad = (attribute(node, a) for a in ("kernel_shape", "strides", "pads"))
    wide = spread(net, y, node.input[0], kernel, stride, pad[:2])
    gradients.add(node.input[0], net.mul(wide, net.unary("Sign", node.input[0])))


def concat(net, gradients, node, y):
    axis = attribute(node, "axis")
    parts = net.split(y, [net.shapes[i][axis] for i in node.input], axis)
    for part, tensor in zip(parts, node.input):
        gradients.add(tensor, part)


def slice_gradient(net, gradients, node, y):
    shape = net.shapes[node.input[0]]
    missing = [a - b for a, b in zip(shape, net.shapes[y])]
    pads = net.ints(missing + [0] * len(shape))
    gradients.add(node.input[0], net.add("Pad", [y, pads], shape))


def add(net, gradients, node, y):
    for tensor in node.input:
        gradients.add(tensor, y)


def gemm(net, gradients, node, y):
    x, weight = node.input[:2]
    gradients.add(x, net.add("Gemm", [y, weight], net.shapes[x], transB=1))
    shape = (net.shapes[x][1], net.shapes[y][1])
    gradients.use_up(net.add("Gemm", [x, y], shape, transA=1))


def flatten(net, gradients, node, y):
    gradients.add(node.input[0], net.reshape(y, net.shapes[node.input[0]]))


def global_average(net, gradients, node, y):
    shape = net.shapes[node.input[0]]
    gradients.add(node.input[0], net.add("Expand", [y, net.ints(list(shape))], shape))


RULES = {"Conv": conv, "Relu": relu_gradient, "BatchNormalization": normalize, "AveragePool": average,
         "MaxPool": maximum, "Concat": concat, "Slice": slice_gradient, "Add": add, "Sum": add, "Gemm": gemm,
         "Flatten": flatten, "GlobalAveragePool": global_average}


def training(net):
    """Appends the backward step."""
    net.name += "_training"
    forward = [node for node in net.nodes if node.op_type in RULES]
    gradients = Gradients(net)
    gradients.wanted = {out for node in forward for out in node.output}  # that of the images is not
    logits = net.outputs.pop().name
    label = net.input("label", net.shapes[logits])
    gradients.add(logits, net.binary("Sub", net.softmax(logits), label))
    for node in reversed(forward):
        y = gradients.take(node.output[0])
        RULES[node.op_type](net, gradients, node, y)
        for tensor in node.input:
            if tensor not in gradients.wanted:
                gradients.terms.pop(tensor, None)
    return net


def networks():
    yield training(vision.resnet("resnet18", (2, 2, 2, 2), False))
    yield training(vision.resnet("resnet34", (3, 4, 6, 3), False))
    yield training(vision.resnet("resnet101", (3, 4, 23, 3), True))
    yield training(nas.nas("nasnet_cifar", "nasnet", 6, 32, False))
    yield training(nas.nas("darts_v2_cifar", "darts_v2", 6, 36, False))
    yield training(vision.inception_v3("inception_v3"))
