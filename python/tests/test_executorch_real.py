"""With ExecuTorch itself, where it is installed: programs are planned, checked by its verifier, and run."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("executorch")


class Branches(torch.nn.Module):
    """Branches of several widths, a residual, and an output that is a view."""

    def __init__(self):
        super().__init__()
        self.stem = torch.nn.Conv2d(3, 16, 3, padding=1)
        self.left = torch.nn.Conv2d(16, 24, 1)
        self.right = torch.nn.Conv2d(16, 8, 3, padding=1)
        self.end = torch.nn.Linear(32, 5)

    def forward(self, x):
        x = torch.relu(self.stem(x))
        joined = torch.cat([torch.relu(self.left(x)), torch.relu(self.right(x))], 1)
        return self.end((joined * joined).mean((2, 3))).view(-1)


@pytest.mark.parametrize("inputs_in_arena", [True, False])
def test_program_runs_in_our_plan(inputs_in_arena):
    from executorch.exir import ExecutorchBackendConfig, to_edge
    from executorch.exir.memory_planning import Verifier
    from executorch.exir.passes import MemoryPlanningPass
    from executorch.extension.pybindings.portable_lib import _load_for_executorch_from_buffer

    from stowage.executorch import memory_planning_pass

    torch.manual_seed(0)
    model, image = Branches().eval(), torch.randn(1, 3, 24, 24)
    exported = torch.export.export(model, (image,))
    passes = [MemoryPlanningPass(alloc_graph_input=inputs_in_arena),
              memory_planning_pass(alloc_graph_input=inputs_in_arena)]
    programs = [to_edge(exported).to_executorch(ExecutorchBackendConfig(memory_planning_pass=it)) for it in passes]
    graph = programs[1].exported_program()
    verifier = Verifier(graph.graph_module, inputs_in_arena, True, True, graph.graph_signature)
    verifier.verify_storage_reuse()
    sizes = [sum(it.executorch_program.execution_plan[0].non_const_buffer_sizes) for it in programs]
    report = passes[1].planner.reports[0]
    assert report.bound <= report.bytes == sizes[1] <= sizes[0]
    outputs = [_load_for_executorch_from_buffer(it.buffer).forward([image])[0] for it in programs]
    assert torch.equal(*outputs)
    torch.testing.assert_close(outputs[1], model(image))


def test_banks():
    from executorch.exir import ExecutorchBackendConfig, to_edge
    from executorch.extension.pybindings.portable_lib import _load_for_executorch_from_buffer

    from stowage.executorch import Bank, memory_planning_pass

    torch.manual_seed(0)
    model, image = Branches().eval(), torch.randn(1, 3, 24, 24)
    planning = memory_planning_pass([Bank("SRAM", 1, 64 * 1024), Bank("DRAM", 2)])
    exported = torch.export.export(model, (image,))
    program = to_edge(exported).to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))
    sizes = program.executorch_program.execution_plan[0].non_const_buffer_sizes
    assert len(sizes) == 3 and 0 < sizes[1] <= 64 * 1024 and sizes[2] > 0
    output = _load_for_executorch_from_buffer(program.buffer).forward([image])[0]
    torch.testing.assert_close(output, model(image))


class Experts(torch.nn.Module):
    """All experts before the first result, a state that is written, and a view of what is written."""

    def __init__(self):
        super().__init__()
        self.wide = torch.nn.ModuleList(torch.nn.Linear(16, 512) for _ in range(3))
        self.narrow = torch.nn.ModuleList(torch.nn.Linear(512, 16) for _ in range(3))
        self.register_buffer("state", torch.zeros(8, 16))

    def forward(self, x):
        hidden = [torch.relu(layer(x)) for layer in self.wide]
        joined = sum(layer(it) for layer, it in zip(self.narrow, hidden)) + self.state
        self.state.add_(x)
        return joined.view(-1), self.state * 2


def test_nodes_in_another_order():
    from executorch.exir import ExecutorchBackendConfig, to_edge
    from executorch.exir.memory_planning import Verifier
    from executorch.extension.pybindings.portable_lib import _load_for_executorch_from_buffer

    from stowage.executorch import memory_planning_pass

    torch.manual_seed(0)
    with torch.no_grad():
        exported = torch.export.export(Experts().eval(), (torch.zeros(8, 16),))
        passes = [memory_planning_pass(), memory_planning_pass(order="search")]
        programs = [to_edge(exported).to_executorch(ExecutorchBackendConfig(memory_planning_pass=it)) for it in passes]
    graph = programs[1].exported_program()
    Verifier(graph.graph_module, True, True, True, graph.graph_signature).verify_storage_reuse()
    kept, found = passes[0].planner.reports[0], passes[1].planner.reports[0]
    reordering = passes[1].reorderings[0]
    assert found.bytes == reordering.found < reordering.own == kept.bytes and found.bytes < kept.bound
    assert reordering.moved > 0
    loaded = [_load_for_executorch_from_buffer(it.buffer) for it in programs]
    for _ in range(3):  # the state goes from run to run
        x = torch.randn(8, 16)
        outputs = [it.forward([x]) for it in loaded]
        assert all(torch.equal(a, b) for a, b in zip(*outputs))


class Cells(torch.nn.Module):
    """Recurrent cells, which split their gates by chunk: an operator with a list of results."""

    def __init__(self, cell, count):
        super().__init__()
        self.cells = torch.nn.ModuleList(cell(32, 32) for _ in range(count))

    def forward(self, x):
        state = None
        for cell in self.cells:
            state = cell(x, state)
            x = state[0] if isinstance(state, tuple) else state
        return x


class Gated(torch.nn.Module):
    """Experts whose halves gate each other, all computed before the first is narrowed."""

    def __init__(self):
        super().__init__()
        self.wide = torch.nn.ModuleList(torch.nn.Linear(16, 512) for _ in range(4))
        self.narrow = torch.nn.ModuleList(torch.nn.Linear(256, 16) for _ in range(4))

    def forward(self, x):
        halves = [layer(x).chunk(2, -1) for layer in self.wide]
        return sum(layer(a * torch.sigmoid(b)) for layer, (a, b) in zip(self.narrow, halves))


@pytest.mark.parametrize(("make", "width", "must_gain"), [
    (lambda: Cells(torch.nn.GRUCell, 20), 32, False), (lambda: Cells(torch.nn.LSTMCell, 12), 32, False),
    (Gated, 16, True)])
def test_chunks_in_another_order(make, width, must_gain):
    from executorch.exir import ExecutorchBackendConfig, to_edge
    from executorch.exir.memory_planning import Verifier
    from executorch.extension.pybindings.portable_lib import _load_for_executorch_from_buffer

    from stowage.executorch import memory_planning_pass

    torch.manual_seed(0)
    x = torch.randn(4, width)
    passes = [memory_planning_pass(), memory_planning_pass(order="search")]
    with torch.no_grad():
        exported = torch.export.export(make().eval(), (x,))
        programs = [to_edge(exported).to_executorch(ExecutorchBackendConfig(memory_planning_pass=it)) for it in passes]
    graph = programs[1].exported_program()
    Verifier(graph.graph_module, True, True, True, graph.graph_signature).verify_storage_reuse()
    sizes = [sum(it.executorch_program.execution_plan[0].non_const_buffer_sizes) for it in programs]
    reordering = passes[1].reorderings[0]
    assert (reordering.own, reordering.found) == tuple(sizes) and sizes[1] <= sizes[0]
    assert (sizes[1] < sizes[0]) or not must_gain
    outputs = [_load_for_executorch_from_buffer(it.buffer).forward([x])[0] for it in programs]
    assert torch.equal(*outputs)


def test_all_methods_are_reported():
    from executorch.exir import ExecutorchBackendConfig, to_edge

    from stowage.executorch import memory_planning_pass

    with torch.no_grad():
        methods = {"forward": torch.export.export(Branches().eval(), (torch.zeros(1, 3, 24, 24),)),
                   "experts": torch.export.export(Experts().eval(), (torch.zeros(8, 16),))}
        planning = memory_planning_pass(order="search")
        for _ in range(2):  # the second program takes the place of the first
            program = to_edge(methods).to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))
    assert [it.method for it in planning.planner.reports] == [0, 1] and len(planning.reorderings) == 2
    sizes = {plan.name: sum(plan.non_const_buffer_sizes) for plan in program.executorch_program.execution_plan}
    assert [it.bytes for it in planning.planner.reports] == [sizes[name] for name in methods]
