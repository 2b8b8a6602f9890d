"""Networks of sequences."""

from net import Net


def heads_of(net, x, heads):
    n, length, width = net.shapes[x]
    return net.transpose(net.reshape(x, (n, length, heads, width // heads)), (0, 2, 1, 3))


def attend(net, q, keys, values):
    """Of all heads at once; keys and values are [batch, head, length, width]."""
    scores = net.matmul(q, net.transpose(keys, (0, 1, 3, 2)))
    scores = net.add("Div", [scores, net.weight(1, value=8.0)], net.shapes[scores])
    mixed = net.transpose(net.matmul(net.softmax(scores), values), (0, 2, 1, 3))
    n, length, heads, width = net.shapes[mixed]
    return net.reshape(mixed, (n, length, heads * width))


def feed_forward(net, x, width):
    return net.linear(net.gelu(net.linear(x, 4 * width)), width)


# Devlin et al., "BERT" (2019), base.
def bert(name, layers=12, length=128, width=768, heads=12):
    net = Net(name)
    x = net.layer_norm(net.input("x", (1, length, width)))
    for _ in range(layers):
        q, k, v = (heads_of(net, net.linear(x, width), heads) for _ in range(3))
        x = net.layer_norm(net.plus(x, net.linear(attend(net, q, k, v), width)))
        x = net.layer_norm(net.plus(x, feed_forward(net, x, width)))
    net.output(x)
    return net


# Radford et al., "Language models are unsupervised multitask learners" (2019): one new token, and what earlier
# ones left.
def gpt2(name, layers=12, past=255, width=768, heads=12):
    net = Net(name)
    x = net.input("x", (1, 1, width))
    present = []
    for layer in range(layers):
        shape = (1, heads, past, width // heads)
        before = [net.input(f"past_{what}{layer}", shape) for what in ("key", "value")]
        parts = net.split(net.linear(net.layer_norm(x), 3 * width), [width] * 3, 2)
        q, k, v = (heads_of(net, part, heads) for part in parts)
        keys, values = (net.concat([b, new], axis=2) for b, new in zip(before, (k, v)))
        present += [keys, values]
        x = net.plus(x, net.linear(attend(net, q, keys, values), width))
        x = net.plus(x, feed_forward(net, net.layer_norm(x), width))
    net.output(net.layer_norm(x))
    for tensor in present:
        net.output(tensor)
    return net


def unrolled_attention(name, heads=16, length=256, width=1024):
    """Every head by itself, as some exporters write it."""
    net = Net(name)
    x = net.input("x", (1, length, width))
    size = width // heads
    outputs = []
    for _ in range(heads):
        q, k, v = (net.linear(x, size) for _ in range(3))
        scores = net.matmul(q, net.transpose(k, (0, 2, 1)))
        scores = net.softmax(net.add("Div", [scores, net.weight(1, value=8.0)], net.shapes[scores]))
        outputs.append(net.matmul(scores, v))
    net.output(net.linear(net.concat(outputs, axis=2), width))
    return net


def experts(name, count=8, layers=4, tokens=128, width=256):
    """Every token through every expert, weighted by a gate; Shazeer et al., "Outrageously large neural
    networks" (2017), without dispatch."""
    net = Net(name)
    x = net.input("x", (tokens, width))
    for _ in range(layers):
        gates = net.split(net.softmax(net.gemm(x, count)), [1] * count, 1)
        terms = [net.mul(net.gemm(net.relu(net.gemm(x, 4 * width)), width), gate) for gate in gates]
        total = terms[0]
        for term in terms[1:]:
            total = net.plus(total, term)
        x = net.plus(x, total)
    net.output(x)
    return net


# Hochreiter, Schmidhuber (1997): every time step with operators of its own.
def lstm(name, steps=64, inputs=128, width=256):
    net = Net(name)
    x = net.input("x", (steps, inputs))
    h, c = net.input("h", (1, width)), net.input("c", (1, width))
    outputs = []
    for step in net.split(x, [1] * steps, 0):
        gates = net.plus(net.gemm(step, 4 * width), net.gemm(h, 4 * width))
        i, f, g, o = net.split(gates, [width] * 4, 1)
        c = net.plus(net.mul(net.sigmoid(f), c), net.mul(net.sigmoid(i), net.unary("Tanh", g)))
        h = net.mul(net.sigmoid(o), net.unary("Tanh", c))
        outputs.append(h)
    net.output(net.concat(outputs, axis=0))
    net.output(c)
    return net


def networks():
    yield bert("bert_base")
    yield gpt2("gpt2_decoder")
    yield unrolled_attention("attention_unrolled")
    yield experts("mixture_of_experts")
    yield lstm("lstm_unrolled")
