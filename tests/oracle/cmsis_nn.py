#!/usr/bin/env python3
"""What CMSIS-NN's own functions say of scratch, for random operators.

    cmsis_nn.py OUT_DIR COUNT MODULE

Writes OUT_DIR/<n>.tflite, models of one operator each, and prints a line of JSON for each: the bytes of each request
with plain C ("scalar"), with "dsp" and with "mve". MODULE is the compiled module `cmsis_nn` of the Python package
executorch. Needs the packages flatbuffers, numpy and tflite-micro.
"""

import importlib.util
import json
import pathlib
import sys

import numpy as np
import tflm_models

SAME, VALID = 0, 1


def load(path):
    spec = importlib.util.spec_from_file_location("cmsis_nn", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def out_size(size, kernel, stride, dilation, padding):
    covered = (kernel - 1) * dilation + 1
    return -(-size // stride) if padding == SAME else max(1, (size - covered) // stride + 1)


def pad_before(size, out, kernel, stride, dilation, padding):
    covered = (kernel - 1) * dilation + 1
    return max(0, (out - 1) * stride + covered - size) // 2 if padding == SAME else 0


def window(random):
    """Sizes and moves of a window along both axes."""
    one_row = random.random() < 0.3
    size = [1 if one_row else int(random.integers(5, 12)), int(random.integers(5, 12))]
    kernel = [1 if one_row else int(random.integers(1, 5)), int(random.integers(1, 5))]
    if random.random() < 0.3:
        kernel = [1, 1] if random.random() < 0.5 or one_row else [3, 3]
    stride = int(random.integers(1, 3))
    dilation = 2 if stride == 1 and random.random() < 0.2 and not one_row else 1
    padding = int(random.integers(0, 2))
    out = [out_size(n, k, stride, dilation, padding) for n, k in zip(size, kernel)]
    pad = [pad_before(n, o, k, stride, dilation, padding) for n, o, k in zip(size, out, kernel)]
    return size, kernel, stride, dilation, padding, out, pad


def weights(shape):
    return tflm_models.q(shape, 0.01, 0, np.ones(shape))


def bias(count):
    return tflm_models.tensor("i32", [count], 0.001, data=np.ones(count))


def convolution(random, cmsis, backend):
    size, kernel, stride, dilation, padding, out, pad = window(random)
    c, n = int(random.integers(1, 20)), int(random.integers(1, 9))
    model = tflm_models.make_model(
        "CONV_2D", [tflm_models.q([1, *size, c]), weights([n, *kernel, c]), bias(n)], [tflm_models.q([1, *out, n])],
        "Conv2DOptions", padding=padding, strideH=stride, strideW=stride, dilationHFactor=dilation,
        dilationWFactor=dilation)
    sizes = [[cmsis.convolve_wrapper_buffer_size(
        it, cmsis.DataType.A8W8, input_nhwc=[1, *size, c], filter_nhwc=[n, *kernel, c], output_nhwc=[1, *out, n],
        padding_hw=pad, stride_hw=[stride] * 2, dilation_hw=[dilation] * 2)] for it in backend]
    return model, sizes


def depthwise(random, cmsis, backend):
    size, kernel, stride, dilation, padding, out, pad = window(random)
    c, times = int(random.integers(1, 20)), int(random.integers(1, 3))
    if random.random() < 0.2:
        c, times = 1, 12
    n = c * times
    model = tflm_models.make_model(
        "DEPTHWISE_CONV_2D", [tflm_models.q([1, *size, c]), weights([1, *kernel, n]), bias(n)],
        [tflm_models.q([1, *out, n])], "DepthwiseConv2DOptions", padding=padding, strideH=stride, strideW=stride,
        dilationHFactor=dilation, dilationWFactor=dilation, depthMultiplier=times)
    sizes = [[cmsis.depthwise_conv_wrapper_buffer_size(
        it, cmsis.DataType.A8W8, input_nhwc=[1, *size, c], filter_nhwc=[1, *kernel, n], output_nhwc=[1, *out, n],
        padding_hw=pad, stride_hw=[stride] * 2, dilation_hw=[dilation] * 2, ch_mult=times)] for it in backend]
    return model, sizes


def average(random, cmsis, backend):
    c = int(random.integers(1, 20))
    model = tflm_models.make_model("AVERAGE_POOL_2D", [tflm_models.q([1, 6, 6, c])], [tflm_models.q([1, 3, 3, c])],
                                   "Pool2DOptions", padding=SAME, strideH=2, strideW=2, filterHeight=2, filterWidth=2)
    return model, [[cmsis.avgpool_buffer_size(it, cmsis.DataType.A8W8, dim_dst_width=3, ch_src=c)] for it in backend]


def transposed(random, cmsis, backend):
    stride, kernel = int(random.integers(1, 4)), int(random.integers(1, 4))
    c, n, size = int(random.integers(1, 33)), int(random.integers(1, 9)), 5
    shapes = {"input_nhwc": [1, size, size, c], "filter_nhwc": [n, kernel, kernel, c]}
    moves = {"padding_hw": [0, 0], "stride_hw": [stride] * 2, "dilation_hw": [1, 1]}
    out = size * stride
    model = tflm_models.make_model(
        "TRANSPOSE_CONV", [tflm_models.ints([1, out, out, n]), weights([n, kernel, kernel, c]),
                           tflm_models.q([1, size, size, c]), bias(n)], [tflm_models.q([1, out, out, n])],
        "TransposeConvOptions", padding=SAME, strideH=stride, strideW=stride)
    sizes = [[cmsis.transpose_conv_buffer_size(it, cmsis.DataType.A8W8, output_nhwc=[1, out, out, n], **shapes, **moves),
              cmsis.transpose_conv_reverse_conv_buffer_size(it, cmsis.DataType.A8W8, **shapes, **moves)]
             for it in backend]
    return model, sizes


def main():
    directory, count = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    cmsis = load(sys.argv[3])
    backend = [cmsis.Backend.SCALAR, cmsis.Backend.DSP, cmsis.Backend.MVE]
    random = np.random.default_rng(7)
    for i in range(count):
        make = (convolution, depthwise, average, transposed)[i % 4]
        model, sizes = make(random, cmsis, backend)
        file = directory / f"{i}.tflite"
        file.write_bytes(model)
        print(json.dumps({"file": str(file), "operator": make.__name__, "sizes": sizes}))


if __name__ == "__main__":
    main()
