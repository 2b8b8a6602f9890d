"""Writes networks as ONNX, operator by operator: a Net knows the shapes of its tensors and keeps files small,
since weights are ConstantOfShape."""

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT


class Net:
    def __init__(self, name):
        self.name = name
        self.nodes, self.initializers, self.inputs, self.outputs = [], [], [], []
        self.shapes = {}  # of tensors that are computed
        self.constants = {}
        self.count = 0

    def input(self, name, shape, dtype=FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        self.shapes[name] = tuple(shape)
        return name

    def output(self, tensor):
        self.outputs.append(helper.make_tensor_value_info(tensor, FLOAT, self.shapes[tensor]))
        return tensor

    def add(self, kind, inputs, shape, **attributes):
        """One operator with one output of that shape."""
        return self.add_many(kind, inputs, [shape], **attributes)[0]

    def add_many(self, kind, inputs, shapes, **attributes):
        self.count += 1
        names = [f"{kind.lower()}{self.count}" + (f"_{i}" if i else "") for i in range(len(shapes))]
        self.nodes.append(helper.make_node(kind, inputs, names, name=names[0], **attributes))
        self.shapes.update(zip(names, map(tuple, shapes)))
        return names

    def ints(self, values):
        """A small constant of integers."""
        name = "ints_" + "_".join(map(str, values)).replace("-", "m")
        if name not in self.constants:
            self.constants[name] = name
            self.initializers.append(numpy_helper.from_array(numpy.array(values, numpy.int64), name))
        return name

    def weight(self, *shape, value=0.01):
        """A constant of any size; equal ones are one."""
        key = f"w{value}_" + "x".join(map(str, shape))
        if key not in self.constants:
            fill = helper.make_tensor("value", FLOAT, [1], [value])
            self.nodes.append(helper.make_node("ConstantOfShape", [self.ints(list(shape))], [key], value=fill))
            self.constants[key] = key
        return key

    # Operators of images, NCHW.
    def conv(self, x, channels, kernel=1, stride=1, groups=1, dilation=1, pad=None, bias=True):
        kh, kw = kernel if isinstance(kernel, tuple) else (kernel, kernel)
        n, c, h, w = self.shapes[x]
        half = dilation * (kh - 1) // 2, dilation * (kw - 1) // 2
        ph, pw = (pad, pad) if isinstance(pad, int) else half
        out_h = (h + 2 * ph - dilation * (kh - 1) - 1) // stride + 1
        out_w = (w + 2 * pw - dilation * (kw - 1) - 1) // stride + 1
        pads = [ph, pw, ph, pw]
        if pad == "same":  # as TensorFlow: as many places as strides, the odd row and column of padding behind
            out_h, out_w = -(-h // stride), -(-w // stride)
            all_h = max((out_h - 1) * stride + dilation * (kh - 1) + 1 - h, 0)
            all_w = max((out_w - 1) * stride + dilation * (kw - 1) + 1 - w, 0)
            pads = [all_h // 2, all_w // 2, all_h - all_h // 2, all_w - all_w // 2]
        operands = [x, self.weight(channels, c // groups, kh, kw)] + ([self.weight(channels)] if bias else [])
        return self.add("Conv", operands, (n, channels, out_h, out_w), kernel_shape=[kh, kw],
                        strides=[stride, stride], group=groups, dilations=[dilation, dilation],
                        pads=pads)

    def bn(self, x):
        c = self.shapes[x][1]
        return self.add("BatchNormalization", [x, self.weight(c, value=1.0), self.weight(c), self.weight(c),
                                               self.weight(c, value=1.0)], self.shapes[x])

    def pool(self, kind, x, kernel, stride=1, pad=None):
        n, c, h, w = self.shapes[x]
        p = (kernel - 1) // 2 if pad is None else pad
        size = [(s + 2 * p - kernel) // stride + 1 for s in (h, w)]
        return self.add(kind, [x], (n, c, *size), kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[p] * 4)

    def max_pool(self, x, kernel, stride=1, pad=None):
        return self.pool("MaxPool", x, kernel, stride, pad)

    def avg_pool(self, x, kernel, stride=1, pad=None):
        return self.pool("AveragePool", x, kernel, stride, pad)

    def global_pool(self, x):
        n, c = self.shapes[x][:2]
        return self.add("GlobalAveragePool", [x], (n, c, 1, 1))

    def upsample(self, x, scale):
        n, c, h, w = self.shapes[x]
        scales = f"scales{scale}"
        if scales not in self.constants:
            self.constants[scales] = scales
            self.initializers.append(
                numpy_helper.from_array(numpy.array([1, 1, scale, scale], numpy.float32), scales))
        return self.add("Resize", [x, "", scales], (n, c, h * scale, w * scale), mode="nearest",
                        coordinate_transformation_mode="asymmetric", nearest_mode="floor")

    # Operators of any tensors.
    def unary(self, kind, x, **attributes):
        return self.add(kind, [x], self.shapes[x], **attributes)

    def relu(self, x):
        return self.unary("Relu", x)

    def sigmoid(self, x):
        return self.unary("Sigmoid", x)

    def silu(self, x):
        return self.mul(x, self.sigmoid(x))

    def binary(self, kind, a, b):
        shape = numpy.broadcast_shapes(self.shapes.get(a, ()), self.shapes.get(b, ()))
        return self.add(kind, [a, b], shape)

    def plus(self, a, b):
        return self.binary("Add", a, b)

    def mul(self, a, b):
        return self.binary("Mul", a, b)

    def concat(self, tensors, axis=1):
        if len(tensors) == 1:
            return tensors[0]
        shape = list(self.shapes[tensors[0]])
        shape[axis] = sum(self.shapes[t][axis] for t in tensors)
        return self.add("Concat", tensors, shape, axis=axis)

    def split(self, x, parts, axis):
        shapes = []
        for part in parts:
            shape = list(self.shapes[x])
            shape[axis] = part
            shapes.append(shape)
        return self.add_many("Split", [x, self.ints(parts)], shapes, axis=axis)

    def slice(self, x, axis, begin, end, step=1):
        shape = list(self.shapes[x])
        shape[axis] = (end - begin + step - 1) // step
        return self.add("Slice", [x, self.ints([begin]), self.ints([end]), self.ints([axis]), self.ints([step])],
                        shape)

    def reshape(self, x, shape):
        return self.add("Reshape", [x, self.ints(list(shape))], shape)

    def transpose(self, x, perm):
        return self.add("Transpose", [x], [self.shapes[x][p] for p in perm], perm=perm)

    def matmul(self, a, b):
        left, right = self.shapes[a], self.shapes[b]
        batch = numpy.broadcast_shapes(left[:-2], right[:-2])
        return self.add("MatMul", [a, b], (*batch, left[-2], right[-1]))

    def linear(self, x, features, bias=True):
        """The last dimension times a weight."""
        weight = self.weight(self.shapes[x][-1], features)
        y = self.add("MatMul", [x, weight], (*self.shapes[x][:-1], features))
        return self.add("Add", [y, self.weight(features)], self.shapes[y]) if bias else y

    def gemm(self, x, features):
        n, c = self.shapes[x]
        return self.add("Gemm", [x, self.weight(c, features), self.weight(features)], (n, features))

    def classifier(self, x, classes):
        n, c = self.shapes[x][:2]
        return self.gemm(self.add("Flatten", [self.global_pool(x)], (n, c), axis=1), classes)

    def softmax(self, x, axis=-1):
        return self.unary("Softmax", x, axis=axis)

    def layer_norm(self, x):
        """As exporters write it before opset 17."""
        reduced = (*self.shapes[x][:-1], 1)
        mean = self.add("ReduceMean", [x], reduced, axes=[-1])
        centred = self.binary("Sub", x, mean)
        power = self.add("Pow", [centred, self.weight(1, value=2.0)], self.shapes[x])
        variance = self.add("ReduceMean", [power], reduced, axes=[-1])
        safe = self.add("Add", [variance, self.weight(1, value=1e-5)], reduced)
        normal = self.binary("Div", centred, self.unary("Sqrt", safe))
        scale = self.weight(self.shapes[x][-1], value=1.0)
        scaled = self.add("Mul", [normal, scale], self.shapes[x])
        return self.add("Add", [scaled, self.weight(self.shapes[x][-1])], self.shapes[x])

    def gelu(self, x):
        inner = self.unary("Erf", self.add("Div", [x, self.weight(1, value=1.4142135)], self.shapes[x]))
        half = self.add("Add", [inner, self.weight(1, value=1.0)], self.shapes[x])
        return self.add("Mul", [self.mul(x, half), self.weight(1, value=0.5)], self.shapes[x])

    def save(self, folder):
        infos = [helper.make_tensor_value_info(n, FLOAT, s) for n, s in self.shapes.items()]
        known = {i.name for i in self.inputs} | {o.name for o in self.outputs}
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.initializers,
                                  value_info=[i for i in infos if i.name not in known])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], producer_name="stowage")
        model.ir_version = 7
        onnx.checker.check_model(model)
        onnx.save(model, f"{folder}/{self.name}.onnx")
