"""Networks found by architecture search, and random ones."""

import random

from net import Net

# Genotypes: pairs of (operation, input) make a node each; inputs 0 and 1 are those of the cell. Source: the
# authors of DARTS, github.com/quark0/darts, genotypes.py; PNASNet: Liu et al., "Progressive neural
# architecture search" (2018), figure 1.
GENOTYPES = {
    "nasnet": dict(
        normal=[("sep5", 1), ("sep3", 0), ("sep5", 0), ("sep3", 0), ("avg3", 1), ("skip", 0), ("avg3", 0), ("avg3", 0),
                ("sep3", 1), ("skip", 1)], normal_concat=[2, 3, 4, 5, 6],
        reduce=[("sep5", 1), ("sep7", 0), ("max3", 1), ("sep7", 0), ("avg3", 1), ("sep5", 0), ("skip", 3), ("avg3", 2),
                ("sep3", 2), ("max3", 1)], reduce_concat=[4, 5, 6]),
    "amoebanet": dict(
        normal=[("avg3", 0), ("max3", 1), ("sep3", 0), ("sep5", 2), ("sep3", 0), ("avg3", 3), ("sep3", 1), ("skip", 1),
                ("skip", 0), ("avg3", 1)], normal_concat=[4, 5, 6],
        reduce=[("avg3", 0), ("sep3", 1), ("max3", 0), ("sep7", 2), ("sep7", 0), ("avg3", 1), ("max3", 0), ("max3", 1),
                ("conv7", 0), ("sep3", 5)], reduce_concat=[3, 4, 6]),
    "pnasnet": dict(
        normal=[("sep5", 0), ("max3", 0), ("sep7", 1), ("max3", 1), ("sep5", 1), ("sep3", 1), ("sep3", 4), ("max3", 1),
                ("sep3", 0), ("skip", 1)], normal_concat=[2, 3, 4, 5, 6],
        reduce=[("sep5", 0), ("max3", 0), ("sep7", 1), ("max3", 1), ("sep5", 1), ("sep3", 1), ("sep3", 4), ("max3", 1),
                ("sep3", 0), ("skip", 1)], reduce_concat=[2, 3, 4, 5, 6]),
    "darts_v2": dict(
        normal=[("sep3", 0), ("sep3", 1), ("sep3", 0), ("sep3", 1), ("sep3", 1), ("skip", 0), ("skip", 0), ("dil3", 2)],
        normal_concat=[2, 3, 4, 5],
        reduce=[("max3", 0), ("max3", 1), ("skip", 2), ("max3", 1), ("max3", 0), ("skip", 2), ("skip", 2), ("max3", 1)],
        reduce_concat=[2, 3, 4, 5]),
}


def relu_conv_bn(net, x, channels):
    return net.bn(net.conv(net.relu(x), channels, bias=False))


def factorized_reduce(net, x, channels):
    x = net.relu(x)
    h, w = net.shapes[x][2:]
    a = net.conv(x, channels // 2, 1, 2, pad=0, bias=False)
    shifted = net.slice(net.slice(x, 2, 1, h), 3, 1, w)
    b = net.conv(shifted, channels - channels // 2, 1, 2, pad=0, bias=False)
    return net.bn(net.concat([a, b]))


def operation(net, kind, x, stride):
    channels = net.shapes[x][1]
    if kind == "skip":
        return x if stride == 1 else factorized_reduce(net, x, channels)
    size = int(kind[-1])
    if kind.startswith("avg"):
        return net.avg_pool(x, size, stride)
    if kind.startswith("max"):
        return net.max_pool(x, size, stride)
    if kind.startswith("dil"):
        x = net.conv(net.relu(x), channels, size, stride, groups=channels, dilation=2, bias=False)
        return net.bn(net.conv(x, channels, bias=False))
    if kind.startswith("conv"):  # 1x7 and 7x1; the stride is taken along with the second
        x = net.conv(net.relu(x), channels, (1, size), 1, bias=False)
        return net.bn(net.conv(x, channels, (size, 1), stride, bias=False))
    for s in (stride, 1):
        x = net.conv(net.relu(x), channels, size, s, groups=channels, bias=False)
        x = net.bn(net.conv(x, channels, bias=False))
    return x


def cell(net, genotype, before, last, channels, reduces):
    kind = "reduce" if reduces else "normal"
    if net.shapes[before][2] > net.shapes[last][2]:
        before = factorized_reduce(net, before, channels)
    else:
        before = relu_conv_bn(net, before, channels)
    states = [before, relu_conv_bn(net, last, channels)]
    pairs = genotype[kind]
    for a, b in zip(pairs[::2], pairs[1::2]):
        terms = [operation(net, op, states[i], 2 if reduces and i < 2 else 1) for op, i in (a, b)]
        states.append(net.plus(*terms))
    return net.concat([states[i] for i in genotype[kind + "_concat"]])


def nas(name, which, cells, channels, imagenet):
    """Three stacks of `cells` normal cells with reductions between."""
    net = Net(name)
    genotype = GENOTYPES[which]
    if imagenet:
        x = net.input("x", (1, 3, 224, 224))
        before = net.bn(net.conv(x, channels // 2, 3, 2, bias=False))
        before = net.bn(net.conv(net.relu(before), channels, 3, 2, bias=False))
        last = net.bn(net.conv(net.relu(before), channels, 3, 2, bias=False))
    else:
        x = net.input("x", (1, 3, 32, 32))
        before = last = net.bn(net.conv(x, 3 * channels, 3, bias=False))
    layers = 3 * cells + 2
    for layer in range(layers):
        reduces = layer in (layers // 3, 2 * layers // 3)
        if reduces:
            channels *= 2
        before, last = last, cell(net, genotype, before, last, channels, reduces)
    net.output(net.classifier(net.relu(last), 1000 if imagenet else 10))
    return net


def watts_strogatz(nodes, neighbours, rewire, seed):
    """Edges, each from a lower node to a higher; Watts and Strogatz, "Collective dynamics of small-world
    networks" (1998)."""
    chance = random.Random(seed)
    edges = {(i, (i + j) % nodes) for j in range(1, neighbours // 2 + 1) for i in range(nodes)}
    for j in range(1, neighbours // 2 + 1):
        for i in range(nodes):
            if chance.random() >= rewire:
                continue
            taken = {b for a, b in edges if a == i} | {a for a, b in edges if b == i} | {i}
            free = [k for k in range(nodes) if k not in taken]
            if free:
                edges.discard((i, (i + j) % nodes))
                edges.add((i, chance.choice(free)))
    return sorted({(min(e), max(e)) for e in edges})


def total(net, terms):
    return terms[0] if len(terms) == 1 else net.add("Sum", terms, net.shapes[terms[0]])


def random_stage(net, x, channels, edges, nodes, stride=2):
    """A node adds up its inputs, then ReLU, separable convolution, normalization; Xie et al., "Exploring
    randomly wired neural networks for image recognition" (2019)."""
    outputs = []
    for i in range(nodes):
        sources = [a for a, b in edges if b == i]
        y = net.relu(total(net, [outputs[a] for a in sources] or [x]))
        y = net.conv(y, net.shapes[y][1], 3, 1 if sources else stride, groups=net.shapes[y][1], bias=False)
        outputs.append(net.bn(net.conv(y, channels, bias=False)))
    return total(net, [outputs[i] for i in range(nodes) if all(a != i for a, _ in edges)])


def randwire(name, nodes, seed, channels=78, stages=3):
    """The stem brings 224 pixels to 56, the first stage to 28."""
    net = Net(name)
    x = net.input("x", (1, 3, 224, 224))
    x = net.bn(net.conv(x, channels // 2, 3, 2, bias=False))
    x = net.bn(net.conv(net.relu(x), channels, 3, 2, bias=False))
    for stage in range(stages):
        edges = watts_strogatz(nodes, 4, 0.75, 100 * seed + stage)
        x = random_stage(net, x, channels * 2**stage, edges, nodes)
    net.output(net.classifier(net.relu(x), 1000))
    return net


def networks():
    yield nas("darts_v2_cifar", "darts_v2", 6, 36, False)
    yield nas("nasnet_cifar", "nasnet", 6, 32, False)
    yield nas("amoebanet_cifar", "amoebanet", 6, 36, False)
    yield nas("pnasnet_cifar", "pnasnet", 6, 32, False)
    yield nas("darts_v2_imagenet", "darts_v2", 4, 48, True)
    yield nas("nasnet_imagenet", "nasnet", 4, 44, True)
    yield nas("amoebanet_imagenet", "amoebanet", 4, 48, True)
    yield nas("pnasnet_imagenet", "pnasnet", 4, 44, True)
    for seed in range(1, 6):
        yield randwire(f"randwire_ws32_{seed}", 32, seed)
    yield randwire("randwire_ws128", 128, 1, stages=1)
    yield randwire("randwire_ws256", 256, 1, stages=1)
