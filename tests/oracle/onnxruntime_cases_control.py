"""Control flow and recurrence: branches, loops in several forms, and recurrent operators."""

import numpy as np

from onnxruntime_cases_net import Net, each, integers

WIDTH = 16


def dense(net, x, inputs=WIDTH, outputs=WIDTH):
    return net.op("Add", net.op("MatMul", x, net.weight(inputs, outputs, fan_in=inputs)), net.small(outputs))


def truth(net, value=True):
    return net.constant(value, bool)


def body_of_loop(net, name, carried):
    """A body with the index, the condition, and the carried values (name, shape, dtype) as inputs."""
    body = net.body(name)
    body.input(f"{name}_index", (), np.int64)
    body.input(f"{name}_go_on", (), bool)
    for value, shape, dtype in carried:
        body.input(value, shape, dtype)
    return body


def branches(opset=13):
    """Both branches read what is outside; one gives it back just as it is. Sets take different ones."""
    net = Net("ort_if", opset)
    which = net.input("which", (), bool, each(True, False, True))
    other = net.input("other", (1,), np.int64, each(3, 1, 2))
    x = net.input("x", (4, WIDTH))
    outer = net.op("Relu", dense(net, x))
    yes, no = net.body("yes"), net.body("no")
    yes.output(yes.op("Add", dense(yes, outer), x), (4, WIDTH))
    yes.output(yes.op("Neg", outer), (4, WIDTH))
    no.output(no.op("Identity", outer), (4, WIDTH))
    inner = no.op("Tanh", no.op("Mul", outer, no.op("Softplus", dense(no, x))))
    no.output(inner, (4, WIDTH))
    a, b = net.op("If", which, results=2, then_branch=yes.graph(), else_branch=no.graph())
    big, small = net.body("big"), net.body("small")
    nested_yes, nested_no = big.body("nested_yes"), big.body("nested_no")
    scaled = big.op("Mul", a, big.real(2))
    nested_yes.output(nested_yes.op("Sub", scaled, outer), (4, WIDTH))
    nested_no.output(nested_no.op("Max", scaled, b), (4, WIDTH))
    big.output(big.op("If", which, then_branch=nested_yes.graph(), else_branch=nested_no.graph()), (4, WIDTH))
    small.output(small.op("Min", a, b), (4, WIDTH))
    more = net.op("Squeeze", net.op("Greater", other, net.ints(1)), net.ints(0))
    c = net.op("If", more, then_branch=big.graph(), else_branch=small.graph())
    net.output(net.op("Sum", c, b, outer), (4, WIDTH), name="result")
    net.output(net.op("Add", a, c), (4, WIDTH), name="sum")
    return net


def counted_loop(opset=13):
    """A recurrent net by hand: the trip count is a constant, the state is carried, weights and inputs are
    outside, and every step's output is collected."""
    steps = 5
    net = Net("ort_loop_counted", opset)
    x = net.input("x", (steps, 2, WIDTH))
    state = net.input("state", (2, WIDTH))
    projected = net.op("MatMul", x, net.weight(WIDTH, WIDTH))
    recurrent = net.weight(WIDTH, WIDTH)
    body = body_of_loop(net, "step", [("held", (2, WIDTH), np.float32), ("sum", (2, WIDTH), np.float32)])
    row = body.op("Gather", projected, "step_index", axis=0)
    updated = body.op("Tanh", body.op("Add", row, body.op("MatMul", "held", recurrent)))
    body.output(body.op("Identity", "step_go_on"), (), bool)
    body.output(updated, (2, WIDTH))
    body.output(body.op("Add", "sum", updated), (2, WIDTH))
    body.output(body.op("Mul", updated, body.real(0.5)), (2, WIDTH))
    body.output(body.op("ReduceMax", updated, axes=[1], keepdims=0), (2,))
    zero = net.constant(np.zeros((2, WIDTH)), np.float32)
    last, total, rows, most = net.op("Loop", net.constant(steps, np.int64), truth(net), state, zero,
                                     results=4, body=body.graph())
    net.output(last, (2, WIDTH), name="last")
    net.output(net.op("Sigmoid", total), (2, WIDTH), name="total")
    net.output(net.op("Relu", rows), (steps, 2, WIDTH), name="rows")
    net.output(most, (steps, 2), name="most")
    return net


def while_loop(opset=17):
    """Ends when the sum is large enough, or after no step at all; how often is not known before."""
    net = Net("ort_loop_while", opset)
    x = net.input("x", (1, WIDTH), draw=lambda rng, shape, k: rng.uniform(0.1, 1, shape))
    limit = net.input("limit", (), np.float32, each(40.0, 400.0, 1.0))
    body = body_of_loop(net, "turn", [("value", (1, WIDTH), np.float32), ("turns", (), np.int64)])
    grown = body.op("Mul", "value", body.real(1.25))
    shifted = body.op("Add", grown, x)
    sum_of = body.op("ReduceSum", shifted, keepdims=0)
    body.output(body.op("Less", sum_of, limit), (), bool)
    body.output(shifted, (1, WIDTH))
    body.output(body.op("Add", "turns", body.constant(1, np.int64)), (), np.int64)
    go_on = net.op("Less", net.op("ReduceSum", x, keepdims=0), limit)
    value, turns = net.op("Loop", "", go_on, x, net.constant(0, np.int64), results=2, body=body.graph())
    net.output(net.op("Sqrt", value), (1, WIDTH), name="root")
    net.output(turns, (), np.int64, name="turns")
    return net


def swapping_loop(opset=13):
    """The trip count comes from outside, and carried values change places: none may be written early."""
    net = Net("ort_loop_swap", opset)
    count = net.input("count", (), np.int64, each(3, 0, 4))
    a, b = net.input("a", (3, WIDTH)), net.input("b", (3, WIDTH))
    body = body_of_loop(net, "turn", [("left", (3, WIDTH), np.float32), ("right", (3, WIDTH), np.float32),
                                      ("kept", (3, WIDTH), np.float32)])
    body.output(body.op("Identity", "turn_go_on"), (), bool)
    body.output(body.op("Identity", "right"), (3, WIDTH))
    body.output(body.op("Sub", "left", a), (3, WIDTH))
    body.output(body.op("Identity", "kept"), (3, WIDTH))
    kept = net.op("Abs", b)
    left, right, same = net.op("Loop", count, truth(net), a, b, kept, results=3, body=body.graph())
    net.output(net.op("Concat", left, right, same, kept, axis=1), (3, 4 * WIDTH), name="all")
    return net


def loop_in_branch(opset=13):
    """A loop in a branch, with a branch in the loop that reads all three graphs."""
    net = Net("ort_loop_in_if", opset)
    which = net.input("which", (), bool, each(True, False, True))
    x = net.input("x", (2, WIDTH))
    outer = dense(net, x)
    yes, no = net.body("yes"), net.body("no")
    middle = yes.op("Abs", outer)
    body = body_of_loop(yes, "turn", [("value", (2, WIDTH), np.float32)])
    odd, even = body.body("odd"), body.body("even")
    doubled = body.op("Mul", "value", body.real(0.75))
    odd.output(odd.op("Add", doubled, middle), (2, WIDTH))
    even.output(even.op("Sub", doubled, outer), (2, WIDTH))
    one = body.constant(1, np.int64)
    is_odd = body.op("Equal", body.op("Mod", "turn_index", body.constant(2, np.int64)), one)
    updated = body.op("If", is_odd, then_branch=odd.graph(), else_branch=even.graph())
    body.output(body.op("Identity", "turn_go_on"), (), bool)
    body.output(updated, (2, WIDTH))
    looped = yes.op("Loop", yes.constant(3, np.int64), truth(yes), x, body=body.graph())
    yes.output(yes.op("Tanh", looped), (2, WIDTH))
    no.output(dense(no, no.op("Relu", outer)), (2, WIDTH))
    net.output(net.op("Add", outer, net.op("If", which, then_branch=yes.graph(), else_branch=no.graph())),
               (2, WIDTH), name="result")
    return net


def loop_in_loop(opset=17):
    """The inner loop starts where the outer one is, and gives it its last state and all its rows."""
    net = Net("ort_loop_in_loop", opset)
    x = net.input("x", (WIDTH,))
    weights = net.weight(WIDTH, WIDTH)
    outer = body_of_loop(net, "outer", [("total", (WIDTH,), np.float32)])
    start = outer.op("Add", "total", x)
    inner = body_of_loop(outer, "inner", [("held", (WIDTH,), np.float32)])
    mixed = inner.op("Sin", inner.op("MatMul", "held", weights))
    weight = inner.op("Cast", inner.op("Add", "inner_index", "outer_index"), to=1)
    inner.output(inner.op("Identity", "inner_go_on"), (), bool)
    inner.output(mixed, (WIDTH,))
    inner.output(inner.op("Mul", mixed, weight), (WIDTH,))
    held, rows = outer.op("Loop", outer.constant(3, np.int64), truth(outer), start, results=2,
                          body=inner.graph())
    outer.output(outer.op("Identity", "outer_go_on"), (), bool)
    outer.output(outer.op("Add", held, outer.op("ReduceMean", rows, axes=[0], keepdims=0)), (WIDTH,))
    outer.output(rows, (3, WIDTH))
    zero = net.constant(np.zeros(WIDTH), np.float32)
    total, all_rows = net.op("Loop", net.constant(2, np.int64), truth(net), zero, results=2,
                             body=outer.graph())
    net.output(total, (WIDTH,), name="total_of_all")
    net.output(all_rows, (2, 3, WIDTH), name="rows_of_all")
    return net


def recurrent(opset=14):
    """Recurrent operators one after the other, with their options."""
    length, batch, hidden = 6, 2, 12
    net = Net("ort_recurrent", opset)
    x = net.input("x", (length, batch, WIDTH))
    lengths = net.input("lengths", (batch,), np.int32, integers(1, length, np.int32))
    start = net.input("start", (2, batch, hidden))

    def weights(directions, gates, inputs=WIDTH):
        return (net.weight(directions, gates * hidden, inputs, fan_in=inputs),
                net.weight(directions, gates * hidden, hidden, fan_in=hidden),
                net.small(directions, 2 * gates * hidden))

    y, held, cell = net.op("LSTM", x, *weights(2, 4), lengths, start, "", results=3, hidden_size=hidden,
                           direction="bidirectional")
    joined = net.op("Reshape", net.op("Transpose", y, perm=[0, 2, 1, 3]), net.ints(0, 0, -1))
    gru, _ = net.op("GRU", joined, *weights(1, 3, 2 * hidden), results=2, hidden_size=hidden,
                    linear_before_reset=1)
    rows = net.op("Squeeze", gru, net.ints(1))
    back, last = net.op("GRU", rows, *weights(1, 3, hidden), results=2, hidden_size=hidden,
                        direction="reverse")
    simple = net.op("RNN", rows, *weights(1, 1, hidden), results=1, hidden_size=hidden)
    peeping = net.op("LSTM", rows, *weights(1, 4, hidden), "", "", "", net.small(1, 3 * hidden), results=1,
                     hidden_size=hidden)
    net.output(held, (2, batch, hidden), name="held")
    net.output(cell, (2, batch, hidden), name="cell")
    net.output(net.op("Concat", gru, back, simple, peeping, axis=1), (length, 4, batch, hidden), name="rows")
    net.output(last, (1, batch, hidden), name="last")
    return net


def activations(opset=14):
    """A recurrent operator with another function than its own."""
    net = Net("ort_recurrent_activations", opset)
    x = net.input("x", (6, 2, WIDTH))
    y = net.op("RNN", x, net.weight(1, 8, WIDTH, fan_in=WIDTH), net.weight(1, 8, 8, fan_in=8), hidden_size=8,
               activations=["Relu"])
    net.output(y, (6, 1, 2, 8))
    return net


def scanned(opset=17):
    """Scan: two carried values, rows of one input read forward and of another backward."""
    steps = 4
    net = Net("ort_scan", opset)
    start = net.input("start", (WIDTH,))
    a, b = net.input("a", (steps, WIDTH)), net.input("b", (WIDTH, steps))
    body = net.body("step")
    body.input("held", (WIDTH,))
    body.input("row_a", (WIDTH,))
    body.input("row_b", (WIDTH,))
    updated = body.op("Tanh", body.op("Add", dense(body, "held"), body.op("Mul", "row_a", "row_b")))
    body.output(updated, (WIDTH,))
    body.output(body.op("Sub", updated, "row_a"), (WIDTH,))
    last, rows = net.op("Scan", start, a, b, results=2, body=body.graph(), num_scan_inputs=2,
                        scan_input_axes=[0, 1], scan_input_directions=[0, 1])
    net.output(last, (WIDTH,), name="last")
    net.output(net.op("Relu", rows), (steps, WIDTH), name="rows")
    return net


def nets():
    yield branches()
    yield counted_loop()
    yield while_loop()
    yield swapping_loop()
    yield loop_in_branch()
    yield loop_in_loop()
    yield recurrent()
    yield activations()
    yield scanned()
