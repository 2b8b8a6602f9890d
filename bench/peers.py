#!/usr/bin/env python3
"""Memory for one inference by other planners, and by stowage: a table for each format of models.

    peers.py --stowage PROGRAM [--zoo FOLDER] [--data FOLDER] [--peers PYTHON] [--tvm PYTHON] [--torch PYTHON]
             [--results FILE] [--time-limit SECONDS] [--columns COLUMN,COLUMN] [NAME...]

    PYTHON of --peers has tflite-micro, ethos-u-vela, onnxruntime, omnimalloc and onnx; of --tvm: apache-tvm and onnx; of
    --torch: executorch, torchvision and stowage. Peers whose PYTHON is not given are left out.

Each result is appended to the file of results, so that a run that was stopped goes on where it was; `--results` of an
earlier run prints its tables again. `--columns` measures only these: those that search (omnimalloc, operators,
streamed) need a quiet machine. Figures are bytes of memory for tensors that change, weights left out:

    TFLM        the head of the arena of TensorFlow Lite Micro, with scratch memory of kernels
    Vela        SRAM for an Ethos-U55 with 128 units, --optimise Performance and Size (input in the arena)
    ExecuTorch  arena by `greedy`
    TVM         storages after StaticPlanBlockMemory, and tensors that it does not plan (outputs; inputs do not count)
    ORT         onnxruntime: what its arena takes from the system in three runs, one thread, requests as they are
    omnimalloc  peak of `supermalloc` for the live ranges of our plan without sharing (`--alias none`, own order)
    operators   stowage plan; for ExecuTorch: our adapter with the nodes in the same order
    streamed    stowage plan --stream
    reordered   our adapter with another order of nodes

"refused": the peer does not take the model; "CPU": Vela leaves all of it to the processor; "late": it takes longer than
five minutes.
"""

import argparse
import csv
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile

COLUMNS = {"TFLite": ("TFLM", "Vela performance", "Vela size", "omnimalloc", "operators", "streamed"),
           "ONNX": ("TVM", "ORT", "omnimalloc", "operators", "streamed"),
           "PyTorch": ("ExecuTorch", "operators", "reordered")}
LATE = 300  # seconds for one figure


# Each of these runs in a process of its own, in the PYTHON of its peer, and prints bytes.

def tflm(model):
    from tflite_micro import runtime

    runtime.Interpreter.from_file(model).print_allocations()


def ort(model):
    import numpy as np
    import onnxruntime

    onnxruntime.set_default_logger_severity(1)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.add_session_config_entry("session.use_device_allocator_for_initializers", "1")
    info = onnxruntime.OrtMemoryInfo("Cpu", onnxruntime.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0,
                                     onnxruntime.OrtMemType.DEFAULT)
    as_requested = {"max_mem": 0, "arena_extend_strategy": 1, "initial_chunk_size_bytes": -1,
                    "max_dead_bytes_per_chunk": -1}
    onnxruntime.create_and_register_allocator(info, onnxruntime.OrtArenaCfg(as_requested))
    options.add_session_config_entry("session.use_env_allocators", "1")
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    types = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": bool,
             "tensor(float16)": np.float16}
    initial = set(it.name for it in session.get_overridable_initializers())
    feeds = {it.name: np.zeros([d if isinstance(d, int) else 1 for d in it.shape], types[it.type])
             for it in session.get_inputs() if it.name not in initial}
    for _ in range(3):
        session.run(None, feeds)


def tvm(model):
    import onnx
    import tvm as host
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx

    transform = relax.transform
    module = from_onnx(onnx.load(model))
    with host.target.Target("llvm"):
        for step in (relax.get_pipeline("zero"), transform.LegalizeOps(), transform.RewriteDataflowReshape(),
                     transform.ToNonDataflow(), transform.RemovePurityChecking(), transform.CallTIRRewrite(),
                     transform.StaticPlanBlockMemory()):
            module = step(module)
    total = 0
    for block in module["main"].body.blocks:
        for binding in block.bindings:
            value = binding.value
            name = getattr(getattr(value, "op", None), "name", "")
            if name == "relax.memory.alloc_storage":
                total += int(value.args[0].values[0])
            elif name == "relax.builtin.alloc_tensor":
                bytes_ = host.DataType(value.args[1].value).bits // 8
                for extent in value.args[0].values:
                    bytes_ *= int(extent)
                total += bytes_
    print("figure", total)


def omnimalloc_of(file):
    import omnimalloc

    rows = json.loads(pathlib.Path(file).read_text())["buffers"]
    buffers = [omnimalloc.Allocation(it["id"], it["size"], min(piece["lower"] for piece in it["pieces"]),
                                     max(piece["upper"] for piece in it["pieces"])) for it in rows if it["pieces"] and it["size"] > 0]
    placed = omnimalloc.allocate(buffers, omnimalloc.allocators.SupermallocAllocator(timeout=5.0, num_threads=2))
    print("figure", max(it.offset + it.size for it in placed))


def executorch(name):
    """Of greedy, of our adapter, and of the adapter with an order of its own."""
    import torch

    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    import executorch_arenas as arenas
    from executorch.exir.passes import MemoryPlanningPass
    from stowage.executorch import memory_planning_pass

    torch.manual_seed(0)
    model, image = arenas.NETWORKS[name]()
    exported = torch.export.export(model.eval(), (image,))
    passes = (MemoryPlanningPass(), memory_planning_pass(), memory_planning_pass(order="search"))
    for it in passes:
        print("figure", arenas.arena_of(arenas.program_with(exported, it)))


PARTS = {it.__name__: it for it in (tflm, ort, tvm, omnimalloc_of, executorch)}


class Peers:
    """Figures of one model."""

    def __init__(self, options, file, folder):
        self.options, self.file, self.folder = options, file, folder

    def part(self, python, name, subject, pattern, last=False):
        """What a part prints: the last or only match of a pattern."""
        if python is None:
            return None
        found = run([python, __file__, "--part", name, subject], pattern)
        return found if isinstance(found, str) or not found else found[-1]

    def tflm(self):
        return self.part(self.options.peers, "tflm", self.file, r"allocation head (\d+) bytes")

    def vela(self, goal):
        if self.options.peers is None:
            return None
        program = pathlib.Path(self.options.peers).with_name("vela")
        out = self.folder / goal
        found = run([program, self.file, "--accelerator-config", "ethos-u55-128", "--optimise", goal, "--output-dir", out],
                    None)
        summaries = list(out.glob("*_summary_*.csv"))
        if isinstance(found, str) or not summaries:
            return found if isinstance(found, str) else "refused"
        row = next(csv.DictReader(io.StringIO(summaries[0].read_text())))
        return round(float(row["sram_memory_used"]) * 1024) or "CPU"

    def omnimalloc(self):
        if self.options.peers is None:
            return None
        plan = self.folder / "plan.json"
        found = self.stowage("--alias", "none", "--order", "keep", "--strategy", "free-list", "-o", plan)
        return found if isinstance(found, str) else self.part(self.options.peers, "omnimalloc_of", plan, r"figure (\d+)")

    def stowage(self, *flags):
        command = [self.options.stowage, "plan", self.file, "--align", "16", "--time-limit", self.options.time_limit, "--json"]
        found = run([*command, *flags], r'"summary":\{"naive":\d+,"peak":(\d+)')
        return found if isinstance(found, str) or not found else found[-1]


def run(command, pattern):
    """All matches, as numbers; or a word that says what went wrong."""
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=LATE, check=False)
    except subprocess.TimeoutExpired:
        return "late"
    if done.returncode != 0:
        print(f"{' '.join(map(str, command))}: {(done.stderr.strip() or 'nothing').splitlines()[-1][:200]}", file=sys.stderr)
        return "refused"
    found = [int(it) for it in re.findall(pattern, done.stdout + done.stderr)] if pattern else [0]
    return found or "refused"


def figures_of(file, options, folder):
    """A function for each figure, by column."""
    peers = Peers(options, file, folder)
    return {"TFLM": peers.tflm,
            "Vela performance": lambda: peers.vela("Performance"),
            "Vela size": lambda: peers.vela("Size"),
            "TVM": lambda: peers.part(options.tvm, "tvm", file, r"figure (\d+)"),
            "ORT": lambda: peers.part(options.peers, "ort", file, r"Total allocated bytes: (\d+)"),
            "omnimalloc": peers.omnimalloc,
            "operators": peers.stowage,
            "streamed": lambda: peers.stowage("--stream")}


def measure(options, keep):
    def is_asked(name, column, group):
        return ((not options.names or name in options.names) and (not options.columns or column in options.columns)
                and (group, name, column) not in keep.known)

    for file in options.files:
        group = "TFLite" if file.suffix == ".tflite" else "ONNX"
        with tempfile.TemporaryDirectory() as folder:
            figures = figures_of(file, options, pathlib.Path(folder))
            for column in COLUMNS[group]:
                if is_asked(file.stem, column, group):
                    keep(group, file.stem, column, figures[column]())
    for name in networks() if options.torch else ():
        if is_asked(name, "ExecuTorch", "PyTorch"):
            found = run([options.torch, __file__, "--part", "executorch", name], r"figure (\d+)")
            for column, value in zip(COLUMNS["PyTorch"], found if isinstance(found, list) else [found] * 3):
                keep("PyTorch", name, column, value)


def networks():
    text = (pathlib.Path(__file__).parent / "executorch_arenas.py").read_text()
    return re.findall(r'^    "(\w+)": ', text, re.MULTILINE)


class Results:
    """Figures by format, model and column, each written as soon as it is known."""

    def __init__(self, file):
        self.file = file
        self.known = {}
        if file.exists():
            for line in file.read_text().splitlines():
                *key, value = json.loads(line)
                self.known[tuple(key)] = value

    def __call__(self, group, model, column, value):
        if value is None:
            return
        self.known[group, model, column] = value
        with self.file.open("a") as out:
            out.write(json.dumps([group, model, column, value]) + "\n")

    def tables(self):
        for group, columns in COLUMNS.items():
            print(f"\n|{group}|" + "|".join(columns) + "|\n|" + "---|" * (len(columns) + 1))
            for model in sorted({model for kind, model, _ in self.known if kind == group}):
                print(f"|{model}|" + "|".join(str(self.known.get((group, model, it), "")) for it in columns) + "|")


def versions(options):
    names = {options.peers: ("tflite-micro", "ethos-u-vela", "onnxruntime", "omnimalloc"), options.tvm: ("apache-tvm",),
             options.torch: ("executorch", "torch", "torchvision")}
    for python, packages in names.items():
        if python is not None:
            script = "import importlib.metadata as m, sys; print(*(f'{n} {m.version(n)}' for n in sys.argv[1:]), sep=', ')"
            print(subprocess.run([python, "-c", script, *packages], capture_output=True, text=True, check=False).stdout.strip())


def main():
    if sys.argv[1:2] == ["--part"]:
        return PARTS[sys.argv[2]](sys.argv[3])
    parser = argparse.ArgumentParser(description="Memory for one inference by other planners, and by stowage.")
    parser.add_argument("--stowage", type=pathlib.Path, required=True)
    parser.add_argument("--zoo", type=pathlib.Path, help="a folder with networks of bench/zoo")
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--peers", help="PYTHON with tflite-micro, ethos-u-vela, onnxruntime, omnimalloc, onnx")
    parser.add_argument("--tvm", help="PYTHON with apache-tvm, onnx")
    parser.add_argument("--torch", help="PYTHON with executorch, torch, torchvision, stowage")
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("peers.jsonl"))
    parser.add_argument("--time-limit", default="10", help="seconds for each plan")
    parser.add_argument("--columns", type=lambda text: text.split(","), help="only these, separated by commas")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    models = options.data / "models"
    options.files = sorted(models.glob("tflite/*.tflite")) + sorted(models.glob("onnx/*.onnx"))
    if options.zoo:
        options.files += sorted(options.zoo.glob("*.onnx"))
    keep = Results(options.results)
    measure(options, keep)
    versions(options)
    keep.tables()


if __name__ == "__main__":
    main()
