#!/usr/bin/env python3
"""Plans ordinary networks with ExecuTorch's greedy algorithm and with stowage, and runs the plans.

    pip install executorch torch torchvision; pip install .
    bench/executorch_arenas.py [NAME..]

Each network is exported, lowered and planned three times: by greedy, by stowage in the same order of nodes, and by
stowage in an order that it searches for. All programs run in ExecuTorch's own runtime; their outputs must be equal, and
are compared with those of eager PyTorch. Prints a line for each network: bytes of the arena by greedy and by stowage,
the bound for this order of nodes, what greedy has above it, bytes of the arena with the order of stowage, the seconds
that stowage took for offsets and for the order, the largest difference to eager, and the largest output.
"""

import sys
import time
import warnings

import torch
import torchvision
from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.memory_planning import Verifier
from executorch.extension.pybindings.portable_lib import _load_for_executorch_from_buffer

import stowage.executorch


class Lstm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(32, 64, num_layers=2, batch_first=True)

    def forward(self, x):
        return self.lstm(x)[0]


class Unet(torch.nn.Module):
    """Two levels down, two up, each joined with what came before."""

    def __init__(self):
        super().__init__()
        widths = [(3, 16), (16, 32), (32, 64)]
        self.down = torch.nn.ModuleList(torch.nn.Conv2d(*it, 3, padding=1) for it in widths)
        self.up = torch.nn.ModuleList(torch.nn.Conv2d(*it, 3, padding=1) for it in [(96, 32), (48, 16)])
        self.end = torch.nn.Conv2d(16, 2, 1)

    def forward(self, x):
        kept = []
        for layer in self.down:
            x = torch.relu(layer(x))
            kept.append(x)
            x = torch.nn.functional.max_pool2d(x, 2)
        x = kept.pop()
        for layer in self.up:
            x = torch.nn.functional.interpolate(x, scale_factor=2.0, mode="nearest")
            x = torch.relu(layer(torch.cat([x, kept.pop()], 1)))
        return self.end(x)


class Experts(torch.nn.Module):
    """Experts side by side, all computed before the first is joined, as a mixture of experts is often written."""

    def __init__(self):
        super().__init__()
        self.wide = torch.nn.ModuleList(torch.nn.Linear(64, 1024) for _ in range(4))
        self.narrow = torch.nn.ModuleList(torch.nn.Linear(1024, 64) for _ in range(4))

    def forward(self, x):
        hidden = [torch.relu(layer(x)) for layer in self.wide]
        return sum(layer(it) for layer, it in zip(self.narrow, hidden))


def encoder(width, heads, layers):
    layer = torch.nn.TransformerEncoderLayer(width, heads, 4 * width, batch_first=True)
    return layer if layers == 1 else torch.nn.TransformerEncoder(layer, layers)


def of_torchvision(name, size=224):
    def made():
        model = getattr(torchvision.models, name)(weights=None)
        for it in model.parameters():
            if it.dim() > 1 and not it.any():  # a head that begins at zero would hide all before it
                torch.nn.init.normal_(it, std=0.02)
        return model, torch.randn(1, 3, size, size)
    return made


NETWORKS = {
    "encoder_64": lambda: (encoder(64, 4, 1), torch.randn(1, 32, 64)),
    "encoder_256_4": lambda: (encoder(256, 8, 4), torch.randn(1, 64, 256)),
    "unet": lambda: (Unet(), torch.randn(1, 3, 64, 64)),
    "experts": lambda: (Experts(), torch.randn(16, 64)),
    "lstm": lambda: (Lstm(), torch.randn(1, 20, 32)),
    "mobilenet_v2": of_torchvision("mobilenet_v2"),
    "mobilenet_v3_small": of_torchvision("mobilenet_v3_small"),
    "mnasnet0_5": of_torchvision("mnasnet0_5"),
    "shufflenet_v2_x1_0": of_torchvision("shufflenet_v2_x1_0"),
    "squeezenet1_1": of_torchvision("squeezenet1_1"),
    "resnet18": of_torchvision("resnet18"),
    "efficientnet_b0": of_torchvision("efficientnet_b0"),
    "googlenet": of_torchvision("googlenet"),
    "densenet121": of_torchvision("densenet121"),
    "swin_t": of_torchvision("swin_t"),
    "convnext_tiny": of_torchvision("convnext_tiny"),
    "regnet_y_400mf": of_torchvision("regnet_y_400mf"),
    "swin_v2_t": of_torchvision("swin_v2_t"),
    "inception_v3": of_torchvision("inception_v3", 299),
    "vit_b_16": of_torchvision("vit_b_16"),
    "maxvit_t": of_torchvision("maxvit_t"),
}


class Timed(stowage.executorch.Planner):
    """Also says how long it took."""

    seconds = 0.0

    def __call__(self, *arguments, **options):
        begin = time.perf_counter()
        result = super().__call__(*arguments, **options)
        self.seconds = time.perf_counter() - begin
        return result


def program_with(exported, memory_planning_pass):
    config = ExecutorchBackendConfig(memory_planning_pass=memory_planning_pass)
    return to_edge(exported).to_executorch(config)


def arena_of(program):
    plan = program.executorch_program.execution_plan[0]
    return sum(plan.non_const_buffer_sizes)


def compare(name):
    from executorch.exir.memory_planning import MemoryPlanningAlgorithmSuite
    from executorch.exir.passes import MemoryPlanningPass

    torch.manual_seed(0)
    model, image = NETWORKS[name]()
    model.eval()
    exported = torch.export.export(model, (image,))
    greedy = program_with(exported, MemoryPlanningPass())
    planner = Timed()
    ours = program_with(exported, MemoryPlanningPass(MemoryPlanningAlgorithmSuite([planner])))
    graph = ours.exported_program()
    Verifier(graph.graph_module, True, True, True, graph.graph_signature).verify_storage_reuse()
    bound = sum(report.bound for report in planner.reports)
    searching = stowage.executorch.memory_planning_pass(order="search")
    reorder = stowage.executorch.reorder
    seconds = []

    def timed(*arguments, **options):
        begin = time.perf_counter()
        found = reorder(*arguments, **options)
        seconds.append(time.perf_counter() - begin)
        return found

    stowage.executorch.reorder = timed
    searched = program_with(exported, searching)
    stowage.executorch.reorder = reorder
    outputs = [_load_for_executorch_from_buffer(it.buffer).forward([image])[0] for it in (greedy, ours, searched)]
    if not all(torch.equal(outputs[0], it) for it in outputs[1:]):
        raise AssertionError(f"{name}: the outputs of the plans differ")
    with torch.no_grad():
        eager = model(image)
    difference, largest = (outputs[1] - eager).abs().max().item(), eager.abs().max().item()
    if not difference < 1e-4 * largest:
        raise AssertionError(f"{name}: outputs differ from eager by {difference}; the largest is {largest}")
    above = 100 * (arena_of(greedy) - bound) / bound
    print(f"{name:20} {arena_of(greedy):10} {arena_of(ours):10} {bound:10} {above:6.1f} % {arena_of(searched):10} "
          f"{planner.seconds:6.2f} s {seconds[0]:6.2f} s {difference:8.1e} {largest:8.1e}", flush=True)


def main():
    warnings.filterwarnings("ignore")
    print(f"{'network':20} {'greedy':>10} {'stowage':>10} {'bound':>10} {'above':>8} {'searched':>10} "
          f"{'offsets':>8} {'order':>8} difference largest")
    for name in sys.argv[1:] or NETWORKS:
        compare(name)


if __name__ == "__main__":
    main()
