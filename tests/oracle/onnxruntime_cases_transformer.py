"""Encoders, and one step of decoders with caches of keys and values."""

import numpy as np

from onnxruntime_cases_net import Net, integers

BATCH, LENGTH, WIDTH, HEADS, HIDDEN, WORDS = 2, 12, 32, 4, 64, 50
DEPTH = WIDTH // HEADS
OUT_OF_SIGHT = -1e4


def dense(net, x, inputs, outputs):
    return net.op("Add", net.op("MatMul", x, net.weight(inputs, outputs, fan_in=inputs)), net.small(outputs))


def layer_norm(net, x):
    return net.op("LayerNormalization", x, net.positive(WIDTH), net.small(WIDTH), axis=-1, epsilon=1e-5)


def mean(net, x):
    if net.opset >= 18:
        return net.op("ReduceMean", x, net.ints(-1), keepdims=1)
    return net.op("ReduceMean", x, axes=[-1], keepdims=1)


def decomposed_norm(net, x):
    """A layer normalisation as exporters of older operator sets write it."""
    centred = net.op("Sub", x, mean(net, x))
    variance = mean(net, net.op("Pow", centred, net.real(2)))
    deviation = net.op("Sqrt", net.op("Add", variance, net.real(1e-5)))
    scaled = net.op("Mul", net.op("Div", centred, deviation), net.positive(WIDTH))
    return net.op("Add", scaled, net.small(WIDTH))


def erf_gelu(net, x):
    erf = net.op("Erf", net.op("Div", x, net.real(np.sqrt(2))))
    half = net.op("Mul", x, net.op("Add", erf, net.real(1)))
    return net.op("Mul", half, net.real(0.5))


def split_heads(net, x, length, batch=BATCH):
    """[batch, length, width] to [batch, heads, length, depth]."""
    parted = net.op("Reshape", x, net.ints(0, length, HEADS, DEPTH))
    return net.op("Transpose", parted, perm=[0, 2, 1, 3])


def join_heads(net, x):
    return net.op("Reshape", net.op("Transpose", x, perm=[0, 2, 1, 3]), net.ints(0, 0, -1))


def attend(net, query, key, value, mask):
    """`mask` is true where a query sees a key."""
    scores = net.op("MatMul", query, net.op("Transpose", key, perm=[0, 1, 3, 2]))
    scores = net.op("Div", scores, net.real(np.sqrt(DEPTH)))
    scores = net.op("Where", mask, scores, net.real(OUT_OF_SIGHT))
    return net.op("MatMul", net.op("Softmax", scores, axis=-1), value)


def encoder(name, opset, norm, gelu):
    net = Net(name, opset)
    ids = net.input("ids", (BATCH, LENGTH), np.int64, integers(0, WORDS - 1))
    lengths = net.input("lengths", (BATCH, 1), np.int64, integers(1, LENGTH))
    words = net.op("Gather", net.weight(WORDS, WIDTH), ids)
    x = norm(net, net.op("Add", words, net.weight(LENGTH, WIDTH)))
    seen = net.op("Less", net.constant([range(LENGTH)], np.int64), lengths)
    seen = net.op("Unsqueeze", seen, net.ints(1, 2))
    mask = net.op("Expand", seen, net.ints(BATCH, 1, LENGTH, LENGTH))
    for _ in range(2):
        query, key, value = (split_heads(net, dense(net, x, WIDTH, WIDTH), LENGTH) for _ in range(3))
        attended = join_heads(net, attend(net, query, key, value, mask))
        x = norm(net, net.op("Add", x, dense(net, attended, WIDTH, WIDTH)))
        hidden = gelu(net, dense(net, x, WIDTH, HIDDEN))
        x = norm(net, net.op("Add", x, dense(net, hidden, HIDDEN, WIDTH)))
    first = net.op("Squeeze", net.op("Slice", x, net.ints(0), net.ints(1), net.ints(1)), net.ints(1))
    net.output(x, (BATCH, LENGTH, WIDTH))
    net.output(net.op("Tanh", dense(net, first, WIDTH, WIDTH)), (BATCH, WIDTH), name="pooled")
    return net


def gelu_by(approximate):
    return lambda net, x: net.op("Gelu", x, approximate=approximate)


def fused_query_key_value(opset=17):
    """Attention from one product that is split, with a post-norm and a relative position bias."""
    net = Net("ort_attention_fused", opset)
    x = net.input("x", (BATCH, LENGTH, WIDTH))
    product = dense(net, layer_norm(net, x), WIDTH, 3 * WIDTH)
    parted = net.op("Reshape", product, net.ints(BATCH, LENGTH, 3, HEADS, DEPTH))
    turned = net.op("Transpose", parted, perm=[2, 0, 3, 1, 4])
    query, key, value = (net.op("Squeeze", part, net.ints(0))
                         for part in net.op("Split", turned, net.ints(1, 1, 1), results=3, axis=0))
    scores = net.op("Einsum", query, key, equation="bhqd,bhkd->bhqk")
    scores = net.op("Add", scores, net.small(HEADS, LENGTH, LENGTH))
    exponents = net.op("Exp", net.op("Sub", scores, net.op("ReduceMax", scores, axes=[3], keepdims=1)))
    weights = net.op("Div", exponents, net.op("ReduceSum", exponents, net.ints(3), keepdims=1))
    joined = join_heads(net, net.op("MatMul", weights, value))
    net.output(net.op("Add", x, dense(net, joined, WIDTH, WIDTH)), (BATCH, LENGTH, WIDTH))
    return net


def rotate(net, x, cosine, sine):
    """Rotary positions: pairs of numbers turned by the position's angles."""
    half = DEPTH // 2
    low = net.op("Slice", x, net.ints(0), net.ints(half), net.ints(3))
    high = net.op("Slice", x, net.ints(half), net.ints(DEPTH), net.ints(3))
    turned = net.op("Concat", net.op("Neg", high), low, axis=3)
    return net.op("Add", net.op("Mul", x, cosine), net.op("Mul", turned, sine))


def angles(net, positions):
    """Cosines and sines for positions [1, n], each [1, 1, n, depth]."""
    steps = net.constant(10000.0 ** -(np.arange(DEPTH) % (DEPTH // 2) / (DEPTH // 2)), np.float32)
    real = net.op("Unsqueeze", net.op("Cast", positions, to=1), net.ints(1, 3))
    angle = net.op("Mul", real, steps)
    return net.op("Cos", angle), net.op("Sin", angle)


def finish(net, x, tokens):
    """The words' scores, the best one, and the three best of the last token."""
    scores = net.op("MatMul", layer_norm(net, x), net.weight(WIDTH, WORDS, fan_in=WIDTH))
    last = net.op("Gather", scores, net.constant(tokens - 1, np.int64), axis=1)
    best, which = net.op("TopK", last, net.ints(3), results=2, axis=-1)
    net.output(scores, (1, tokens, WORDS), name="scores")
    net.output(net.op("ArgMax", scores, axis=-1, keepdims=0), (1, tokens), np.int64, name="words")
    net.output(best, (1, 3), name="best")
    net.output(which, (1, 3), np.int64, name="which")


def feed_forward(net, x):
    """Gated: one half times the sigmoid-weighted other."""
    gate = dense(net, layer_norm(net, x), WIDTH, HIDDEN)
    gate = net.op("Mul", gate, net.op("Sigmoid", gate))
    hidden = net.op("Mul", gate, dense(net, x, WIDTH, HIDDEN))
    return net.op("Add", x, dense(net, hidden, HIDDEN, WIDTH))


def growing_cache(tokens):
    """Past keys and values come in, and go out with those of the new tokens behind them."""
    past, layers = 9, 2
    total = past + tokens
    net = Net(f"ort_decoder_concat_{tokens}", 17)
    ids = net.input("ids", (1, tokens), np.int64, integers(0, WORDS - 1))
    visible = net.input("visible", (1, total), np.int64, integers(0, 1))
    caches = [[net.input(f"past_{what}_{layer}", (1, HEADS, past, DEPTH)) for what in ("key", "value")]
              for layer in range(layers)]
    counted = net.op("Sub", net.op("CumSum", visible, net.constant(1, np.int64)), net.constant(1, np.int64))
    positions = net.op("Slice", net.op("Clip", counted, net.constant(0, np.int64)), net.ints(past),
                       net.ints(total), net.ints(1))
    causal = net.op("Trilu", net.constant(np.ones((tokens, total)), np.float32),
                    net.constant(past, np.int64), upper=0)
    allowed = net.op("Equal", net.op("Unsqueeze", visible, net.ints(1, 2)), net.constant(1, np.int64))
    mask = net.op("And", net.op("Cast", causal, to=9), allowed)
    cosine, sine = angles(net, positions)
    x = net.op("Gather", net.weight(WORDS, WIDTH), ids, axis=0)
    for layer, (past_key, past_value) in enumerate(caches):
        normed = layer_norm(net, x)
        query, key, value = (split_heads(net, dense(net, normed, WIDTH, WIDTH), tokens) for _ in range(3))
        query, key = rotate(net, query, cosine, sine), rotate(net, key, cosine, sine)
        key = net.op("Concat", past_key, key, axis=2, into=f"present_key_{layer}")
        value = net.op("Concat", past_value, value, axis=2, into=f"present_value_{layer}")
        joined = join_heads(net, attend(net, query, key, value, mask))
        x = feed_forward(net, net.op("Add", x, dense(net, joined, WIDTH, WIDTH)))
        net.output(key, (1, HEADS, total, DEPTH))
        net.output(value, (1, HEADS, total, DEPTH))
    finish(net, x, tokens)
    return net


def scatter_rows(net, cache, rows, position):
    """Row `position` of every head, by ScatterND over [heads, size, depth]."""
    heads = net.constant(np.arange(HEADS).reshape(HEADS, 1, 1), np.int64)
    where = net.op("Expand", net.op("Unsqueeze", position, net.ints(1, 2)), net.ints(HEADS, 1, 1))
    indices = net.op("Concat", heads, where, axis=2)
    flat = net.op("Squeeze", cache, net.ints(0))
    return net.op("Unsqueeze", net.op("ScatterND", flat, indices, net.op("Squeeze", rows, net.ints(0))),
                  net.ints(0))


def scatter_elements(net, cache, rows, position):
    where = net.op("Expand", net.op("Reshape", position, net.ints(1, 1, 1, 1)), net.ints(1, HEADS, 1, DEPTH))
    return net.op("ScatterElements", cache, where, rows, axis=2)


def fixed_cache(name, opset, scatter):
    """The caches have their final size; the new token's row is put at a position given at run time."""
    size, layers = 16, 2
    net = Net(name, opset)
    ids = net.input("ids", (1, 1), np.int64, integers(0, WORDS - 1))
    position = net.input("position", (1,), np.int64, integers(0, size - 1))
    places = net.op("Range", net.constant(0, np.int64), net.constant(size, np.int64),
                    net.constant(1, np.int64))
    mask = net.op("Not", net.op("Greater", places, position))
    cosine, sine = angles(net, net.op("Reshape", position, net.ints(1, 1)))
    x = net.op("Gather", net.weight(WORDS, WIDTH), ids)
    for layer in range(layers):
        caches = [net.input(f"{what}_cache_{layer}", (1, HEADS, size, DEPTH)) for what in ("key", "value")]
        normed = layer_norm(net, x)
        query, key, value = (split_heads(net, dense(net, normed, WIDTH, WIDTH), 1) for _ in range(3))
        query, key = rotate(net, query, cosine, sine), rotate(net, key, cosine, sine)
        key, value = (scatter(net, cache, rows, position) for cache, rows in zip(caches, (key, value)))
        joined = join_heads(net, attend(net, query, key, value, mask))
        x = feed_forward(net, net.op("Add", x, dense(net, joined, WIDTH, WIDTH)))
        net.output(key, (1, HEADS, size, DEPTH), name=f"key_{layer}")
        net.output(value, (1, HEADS, size, DEPTH), name=f"value_{layer}")
    finish(net, x, 1)
    return net


def attention_operators(name, **attributes):
    """Positions turned and attention as operators of their own, with a cache, for pairs of heads."""
    past, tokens, shared = 5, 3, HEADS // 2
    net = Net(name, 23)
    query, key, value = (net.input(what, (BATCH, tokens, heads * DEPTH))
                         for what, heads in (("query", HEADS), ("key", shared), ("value", shared)))
    caches = [net.input(what, (BATCH, shared, past, DEPTH)) for what in ("past_key", "past_value")]
    positions = net.input("positions", (BATCH, tokens), np.int64, integers(0, 15))
    mask = net.input("mask", (tokens, past + tokens))
    angle = np.arange(16)[:, None] / 10000.0 ** (np.arange(DEPTH // 2) / (DEPTH // 2))
    tables = [net.constant(table, np.float32) for table in (np.cos(angle), np.sin(angle))]
    query = net.op("RotaryEmbedding", query, *tables, positions, num_heads=HEADS)
    key = net.op("RotaryEmbedding", key, *tables, positions, num_heads=shared, interleaved=1)
    results = net.op("Attention", query, key, value, mask, *caches, results=3, q_num_heads=HEADS,
                     kv_num_heads=shared, **attributes)
    net.output(results[0], (BATCH, tokens, WIDTH))
    for result in results[1:]:
        net.output(result, (BATCH, shared, past + tokens, DEPTH))
    return net


def nets():
    yield encoder("ort_encoder_layernorm", 17, layer_norm, erf_gelu)
    yield encoder("ort_encoder_decomposed", 13, decomposed_norm, erf_gelu)
    yield encoder("ort_encoder_gelu", 20, layer_norm, gelu_by("none"))
    yield encoder("ort_encoder_gelu_tanh", 20, decomposed_norm, gelu_by("tanh"))
    yield fused_query_key_value()
    yield growing_cache(1)
    yield growing_cache(4)
    yield fixed_cache("ort_decoder_scatter_nd", 17, scatter_rows)
    yield fixed_cache("ort_decoder_scatter_elements", 20, scatter_elements)
    yield attention_operators("ort_attention_operator")
    yield attention_operators("ort_attention_operator_causal", is_causal=1, softcap=1.5, scale=0.25)
