#!/usr/bin/env python3
"""Holds open sizes against what each size needs alone, and shapes against ONNX Runtime.

    bench/open_models.py build/release/stowage MODELS [--only NAME] [--seconds 60] [-o table.md]

MODELS is a folder that bench/models/fetch.py has filled; networks of bench/zoo/open.py are written beside them. Needs
a Python with numpy, onnx and onnxruntime; without onnxruntime the shapes are not compared with its. Prints a Markdown
table with a row for each model. Seconds are those of a processor, of whole commands.

    question    `plan MODEL` without any size: seconds, the median of five runs, and whether it names all open sizes
    read        seconds of `plan --effort 1` for the range, above that of its largest size, as a quotient of medians of
                five. The range is read at 16 to 48 more sizes
    range       bytes of the plan for the range above that of the plan for the largest size alone, in per cent
    rel         relations of `--offsets symbolic`, and its seconds
    above       of the drawn sizes: the largest and the mean peak of the functions above that of a plan for the size
                alone, in per cent, and the share of sizes within half a per cent
    drawn       how many sizes were drawn. Plans have `--effort 300`, functions 3000
    verified    drawn sizes at which both plans are valid
    run         drawn sizes at which the model ran in the plan for the range, every tensor equal bit for bit
    shapes      tensors whose shape was compared with ONNX Runtime at drawn sizes, and how many differ
    fit         the largest size of the last range for half the capacity, and seconds. It is a fault if a plan up to it
                does not fit, or one up to the next does
    C           buffers, and nanoseconds of a call of the function of offsets

What takes longer than --seconds in all draws fewer sizes. Faults are on stderr, with the command.
"""
import argparse
import collections
import json
import pathlib
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "zoo"))

Model = collections.namedtuple("Model", "name given ranges inputs")


def of(name, ranges, given="", **inputs):
    """ranges and given are as "seq=1..64 past=1..256:2"."""
    def pairs(text):
        return dict(it.rsplit("=", 1) for it in text.split())
    sizes = {size: [int(it) for it in re.split(r"\.\.|:", span)] for size, span in pairs(ranges).items()}
    return Model(name, pairs(given), {size: (*it, 1)[:3] for size, it in sizes.items()}, inputs)


MODELS = [
    of("gpt_6", "batch=1..4 seq=1..64 past=1..256"),
    of("whisper_encoder", "frames=1..512", "batch=1"),
    of("whisper_decoder", "seq=1..32 past=1..128 steps=1..256", "batch=1"),
    of("bert_6", "batch=1..4 seq=1..128", token_type_ids=(0, 1), attention_mask=(0, 1)),
    of("relative_encoder", "batch=1..4 seq=1..128"),
    of("vit_any_image", "height=16..256 width=16..256", "batch=1"),
    of("windows_any_image", "height=4..128 width=4..128", "batch=1"),
    of("detector_any_image", "height=32..320:32 width=32..320:32", "batch=1"),
    of("unet_any_image", "height=8..96 width=8..96", "batch=1"),
    of("larger_any_image", "height=1..64 width=1..64"),
    of("letters_any_time", "batch=1..4 frames=1..512"),
    of("conformer_any_time", "frames=7..512", "batch=1"),
    of("voices_any_time", "batch=1..4 frames=15..512"),
    of("vocoder_any_time", "frames=1..64", "batch=1"),
    of("images_and_texts", "images=1..4 texts=1..8 seq=1..64"),
    of("minilm_l3", "batch_size=1..4 sequence_length=1..128", attention_mask=(1, 1)),
    of("minilm_int8", "batch=1..2 sequence=1..128", attention_mask=(1, 1), token_type_ids=(0, 1)),
    of("rapidocr_det", "p2o.DynamicDimension.1=32..320:32 p2o.DynamicDimension.2=32..320:32",
       "p2o.DynamicDimension.0=1"),
    of("rapidocr_rec", "p2o.DynamicDimension.1=8..320", "p2o.DynamicDimension.0=1 x[2]=48"),
    of("rapidocr_cls", "x[3]=64..192", "x[0]=1 x[2]=48"),
    of("ddddocr", "image_width=16..320"),
    of("nudenet", "height=32..320:32 width=32..320:32", "batch=1"),
    of("oww_mel", "samples=512..16000", "batch_size=1"),
    of("pyopen_mel", "serving_default_input:0[1]=512..16000", "serving_default_input:0[0]=1"),
    of("silero_whisper", "seq_len=1..64"),
    of("swift_f0", "samples=1..16000", fmin=(46, 46), fmax=(2093, 2093)),
    of("title_decoder", "decoder_sequence_length=1..16 encoder_sequence_length=1..64", "batch_size=1",
       encoder_attention_mask=(1, 1)),
    of("chars2vec", "unk__487=1..4 unk__488=1..64"),
    of("nakdimon", "unk__1916=1..128", "unk__1915=1", input_1=(1, 40)),
    of("piper_tashkeel", "seq=1..96", "batch=1", input_lengths=(1, 1), char_inputs=(1, 30), diac_inputs=(0, 14)),
    of("aecmos_1", "frames=16..320", "batch_size=1"),
    of("plcmos", "frames=7..320", "batch_size=1"),
    of("magika_3", "unk__214=1..8", bytes=(0, 255)),
    of("eeg_seizure_a", "time=1..256", "batch=1"),
    of("hush_enc", "S=1..128"),
    of("tashkeel_bilstm", "seq_len=1..64", "batch=1"),
    of("llama_32", "seq=1..64 past=1..256", "batch=1"),
    of("tashkeel_rawi", "sequence=1..64", "batch_size=1"),
]

C_TIMER = """
#include <stdio.h>
#include <time.h>
enum { SIZES = sizeof(stowage_dims) / sizeof(int64_t) };
int main(void) {
  static const int64_t least[SIZES] = {%s}, most[SIZES] = {%s}, step[SIZES] = {%s};
  static int64_t offsets[STOWAGE_BUFFERS];
  union { stowage_dims dims; int64_t sizes[SIZES]; } at;
  int64_t sum = 0;
  const long calls = 20000;
  double best = 1e9;
  for (int round = 0; round < 9; ++round) {
    const clock_t begin = clock();
    for (long i = 0; i < calls; ++i) {
      for (int d = 0; d < SIZES; ++d) at.sizes[d] = least[d] + i %% ((most[d] - least[d]) / step[d] + 1) * step[d];
      sum += stowage_plan(&at.dims, offsets) + offsets[i %% STOWAGE_BUFFERS];
    }
    const double ns = 1e9 * (clock() - begin) / CLOCKS_PER_SEC / calls;
    if (ns < best) best = ns;
  }
  printf("%%d %%.0f %%ld\\n", (int)STOWAGE_BUFFERS, best, (long)sum);
}
"""


def used():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Bench:
    def __init__(self, program, model, file, seconds, folder):
        self.program, self.model, self.file, self.folder = program, model, file, pathlib.Path(folder)
        self.seconds, self.draw = seconds, random.Random(1)
        self.begin, self.faults = time.monotonic(), 0

    def run(self, *arguments):
        command = [str(self.program), *map(str, arguments)]
        before = used()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.last = command
        return done, used() - before

    def fault(self, what, done=None):
        self.faults += 1
        print(f"{self.model.name}: {what}: {' '.join(self.last)}\n"
              f"{(done.stderr.strip() or done.stdout.strip())[:600] if done else ''}", file=sys.stderr, flush=True)

    def is_time(self, share):
        return time.monotonic() - self.begin < share * self.seconds

    def sizes(self, spans):
        """Options that give each open size a number, or a range as text."""
        return [it for name, size in {**self.model.given, **spans}.items() for it in ("--dim", f"{name}={size}")]

    def box(self):
        return {name: f"{a}..{b}" + (f":{s}" if s > 1 else "") for name, (a, b, s) in self.model.ranges.items()}

    def largest(self):
        return {name: b for name, (a, b, s) in self.model.ranges.items()}

    def drawn(self):
        return {name: self.draw.randrange(a, b + 1, s) for name, (a, b, s) in self.model.ranges.items()}

    def plan(self, spans, *options, effort=300):
        return self.run("plan", self.file, *self.sizes(spans), "--effort", effort, *options)

    def question(self):
        runs = [self.run("plan", self.file) for _ in range(5)]
        done, seconds = runs[0][0], statistics.median(seconds for _, seconds in runs)
        heads = done.stdout.split("\n\n")[0]
        names = {name.split("[")[0] for name in [*self.model.ranges, *self.model.given]}
        missing = [name for name in names if name not in heads]
        if done.returncode != 3 or missing:
            self.fault(f"the question names no {missing}", done)
        return f"{seconds:.2f}"

    def read(self):
        def middle(spans):
            return statistics.median(self.plan(spans, "--strategy", "greedy-by-size", effort=1)[1] for _ in range(5))
        return f"{middle(self.box()) / max(middle(self.largest()), 1e-3):.1f}"

    def peak(self, spans, *options, effort=300):
        done, seconds = self.plan(spans, "--json", *options, effort=effort)
        if done.returncode != 0:
            return None, seconds, done
        return json.loads(done.stdout), seconds, done

    def row(self):
        cells = [self.model.name, " ".join(f"{n}={it}" for n, it in self.box().items()), self.question(), self.read()]
        work = self.folder
        whole, _, done = self.peak(self.box(), "-o", work / "range.json")
        if not whole:
            self.fault("no plan for the range", done)
            return cells
        alone, _, done = self.peak(self.largest())
        above = whole["summary"]["peak"] / alone["summary"]["peak"] - 1
        cells.append(f"{100 * above:.2f}")
        functions, seconds, done = self.peak(self.box(), "--offsets", "symbolic", "-o", work / "functions.json",
                                             "-o", work / "offsets.h", effort=3000)
        self.begin = time.monotonic()
        if not functions:
            self.fault("no functions", done)
            return cells + ["none"] + self.shapes()
        cells.append(f"{len(functions['functions']['relations'])}, {seconds:.1f} s")
        cells += self.held(functions, work)
        return cells + [self.runs(work), *self.shapes(), self.fit(whole["summary"]["peak"] // 2), self.c(work)]

    def held(self, functions, work):
        above, verified, tries, done = [], 0, 0, None
        while len(above) < 100 and tries < 200 and self.is_time(0.5):
            tries += 1
            spans = self.drawn()
            alone, _, done = self.peak(spans)
            if not alone:
                continue
            checked, _ = self.run("verify", work / "functions.json", "--model", self.file, *self.sizes(spans), "--json")
            verdict = json.loads(checked.stdout) if checked.stdout else {"valid": False}
            if not verdict["valid"]:
                self.fault("the functions are not valid", checked)
                continue
            above.append(verdict["peak"] / alone["summary"]["peak"] - 1)
            if len(above) <= 20:
                checked, _ = self.run("verify", work / "range.json", "--model", self.file, *self.sizes(spans))
                if checked.returncode != 0:
                    self.fault("the plan for the range is not valid", checked)
                    continue
            verified += 1
        if not above:
            self.fault("no drawn size was planned in time", done)
            return ["", "0", "0"]
        within = sum(it <= 0.005 for it in above) / len(above)
        return [f"{100 * max(above):.2f}, {100 * sum(above) / len(above):.2f}, {100 * within:.0f}", str(len(above)),
                str(verified)]

    def value(self, name, shape, dtype):
        import numpy
        random_ = numpy.random.default_rng(1)
        low, high = self.model.inputs.get(name, (-1, 1) if numpy.dtype(dtype).kind == "f" else (0, 1))
        if numpy.dtype(dtype).kind == "f":
            return random_.uniform(low, high, shape).astype(dtype)
        return random_.integers(low, high, shape, endpoint=True).astype(dtype)

    def runs(self, work):
        import numpy
        good, tries = 0, 0
        while good < 20 and tries < 30 and self.is_time(0.7):
            tries += 1
            spans = self.drawn()
            plan, _, _ = self.peak(spans)
            if not plan:
                continue
            inputs = []
            for tensor in plan["tensors"]:
                if tensor["kind"] == "input":
                    file = work / f"{len(inputs)}.npy"
                    numpy.save(file, self.value(tensor["name"], tensor["shape"], tensor["dtype"]))
                    inputs += ["--input", f"{tensor['name']}={file}"]
            done, _ = self.run("run", self.file, "--plan", work / "range.json", *self.sizes(spans), "--check=all",
                               *inputs)
            if done.returncode != 0:
                self.fault("does not run in the plan for the range", done)
                continue
            good += 1
        return str(good)

    def shapes(self):
        """Of every tensor that an operator writes, as ONNX Runtime has it without any optimisation."""
        try:
            import numpy
            import onnx
            import onnxruntime
        except ImportError:
            return [""]
        if self.file.suffix != ".onnx":
            return ["TFLite"]
        model = onnx.load(str(self.file))
        known = {it.name for it in model.graph.output}
        more = [name for node in model.graph.node for name in node.output if name and name not in known]
        model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in more)
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        try:
            session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        except Exception as error:  # a type of ONNX Runtime's own
            return [f"ONNX Runtime: {str(error)[:60]}"]
        names = [it.name for it in session.get_outputs()]
        count = wrong = tries = 0
        while tries < 40 and count < 6000 and self.is_time(1):
            tries += 1
            spans = self.drawn()
            plan, _, done = self.peak(spans)
            ours = {it["name"]: it["shape"] for it in plan["tensors"]} if plan else {}
            kinds = {"tensor(float)": "float32", "tensor(float16)": "float16", "tensor(int64)": "int64",
                     "tensor(int32)": "int32", "tensor(bool)": "bool"}
            shapes = {it["name"]: it["shape"] for it in plan["tensors"] if it["kind"] == "input"} if plan else None
            feeds = {it.name: self.value(it.name, shapes[it.name] if plan else self.feed_shape(it, spans),
                                         kinds[it.type])
                     for it in session.get_inputs() if not plan or it.name in shapes}
            try:
                results = session.run(names, feeds)
            except Exception as error:
                if plan:
                    self.fault(f"ONNX Runtime rejects what stowage takes: {str(error)[:200]}")
                continue
            if not plan:
                self.fault("ONNX Runtime takes what stowage rejects", done)
                continue
            for name, result in zip(names, results):
                if name in ours and isinstance(result, numpy.ndarray):
                    count += 1
                    if list(result.shape) != ours[name]:
                        wrong += 1
                        self.fault(f"{name} has {ours[name]} at {spans}, ONNX Runtime {list(result.shape)}")
        return [f"{count}, {wrong}"]

    def feed_shape(self, tensor, spans):
        texts = {**self.model.given, **spans}
        return [int(texts.get(it, texts.get(f"{tensor.name}[{axis}]", it))) if isinstance(it, str) or it is None else it
                for axis, it in enumerate(tensor.shape)]

    def fit(self, capacity):
        *_, (name, (a, b, s)) = self.model.ranges.items()
        box = self.box()
        done, seconds = self.plan(box, "--fit", name, "--capacity", capacity, "-o", self.folder / "fit.json")
        found = re.search(r"from \d+ to (\d+)", done.stderr + done.stdout)
        if not found:
            alone, _, _ = self.peak({**box, name: f"{a}..{a}"})
            if alone and alone["summary"]["peak"] <= capacity:
                self.fault("--fit finds no size", done)
            return "none"
        size = int(found.group(1))
        is_at, _, _ = self.peak({**box, name: f"{a}..{size}" + (f":{s}" if s > 1 else "")})
        beyond, _, _ = self.peak({**box, name: f"{a}..{size + s}" + (f":{s}" if s > 1 else "")})
        if is_at["summary"]["peak"] > capacity or (beyond and beyond["summary"]["peak"] <= capacity and size + s <= b):
            self.fault(f"--fit says {size}", done)
        return f"{size}, {seconds:.1f} s"

    def c(self, work):
        lists = [", ".join(str(it[which]) for it in self.model.ranges.values()) for which in range(3)]
        (work / "time.c").write_text('#include "offsets.h"\n' + C_TIMER % tuple(lists))
        done, _ = self.run_c(["gcc", "-O2", "-o", work / "time", work / "time.c"])
        if done.returncode != 0:
            self.fault("the header does not compile", done)
            return ""
        done, _ = self.run_c([work / "time"])
        return "{}, {}".format(*done.stdout.split())

    def run_c(self, command):
        self.last = list(map(str, command))
        return subprocess.run(self.last, capture_output=True, text=True, check=False), 0


HEAD = ("|model|sizes|question s|read|range %|relations, s|above %: most, mean; sizes within 0.5|drawn|verified|run|"
        "shapes, wrong|fit|C: buffers, ns|faults|")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("--only", action="append", metavar="NAME", help="Only this model; may be given several times")
    parser.add_argument("--seconds", type=float, default=60, help="For each model, about. Default: 60")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="Append rows to this file, too")
    given = parser.parse_args()
    import open as zoo
    for make in zoo.NETWORKS:
        net = make()
        if not (given.models / f"{net.name}.onnx").exists():
            net.save(given.models)

    def write(line):
        print(line, flush=True)
        if given.output:
            with given.output.open("a", encoding="utf-8") as file:
                file.write(line + "\n")

    write(HEAD)
    write("|" + "---|" * (HEAD.count("|") - 1))
    for model in MODELS:
        if given.only and model.name not in given.only:
            continue
        file = next((it for it in (given.models / f"{model.name}{kind}" for kind in (".onnx", ".tflite"))
                     if it.exists()), None)
        if not file:
            print(f"{model.name} is not there: bench/models/fetch.py {given.models} --only {model.name}",
                  file=sys.stderr)
            continue
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(given.program, model, file, given.seconds, folder)
            try:
                cells = bench.row()
            except Exception as error:  # the next model counts, too
                bench.fault(f"{type(error).__name__}: {error}")
                cells = [model.name]
            write("|" + "|".join([*cells, f"{bench.faults}"]) + "|")


if __name__ == "__main__":
    main()
