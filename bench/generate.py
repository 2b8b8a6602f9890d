#!/usr/bin/env python3
"""Generated C beside what else there is: outputs, memory, instructions in QEMU, time on this machine, of generation,
and which networks become C.

    bench/generate.py --stowage build/release/stowage [--zoo FOLDER] MODEL.tflite ...

Prints all tables of one run in Markdown, and what misses its target by how much. A row that fails says so, and the run
goes on. Outputs are compared for all models; memory, instructions and times are those of MEASURED. Plans have the
default options. --zoo is a folder of networks that bench/zoo/make.py has written; convolutional ones are generated
without being run. --tables prints some of the tables only.

Needs qemu-system-arm, gcc-arm-none-eabi and picolibc-arm-none-eabi. Python packages go into a folder of their own
(--environment): CMSIS-NN 4.0.0 is in the wheel of bakenn 1.0.0; Vela, BakeNN, emx-onnx-cgen and tflite-micro are
compared with. Each convolution, depthwise convolution and fully connected layer is one call of CMSIS-NN on whole
tensors, and all other operators are left out of that count; generated C counts all. Counts are instructions, not
cycles. Times are left out if other programs keep the machine busy."""
import argparse
import json
import os
import pathlib
import re
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import generate_peers as peers
from generate_peers import Failed, attempt, count, refusal, run

KERNELS = {"portable": ["m3", "m4", "m7", "m55"], "cmsis-nn:scalar": ["m3"], "cmsis-nn:dsp": ["m4", "m7"],
           "cmsis-nn:mve": ["m55"]}
BY_OPERATORS, BY_ROWS = "by operators", "--stream --io rows"
MODES = {BY_OPERATORS: [], "--stream": ["--stream"], BY_ROWS: ["--stream", "--io", "rows"]}
MEASURED = ["person_detect", "vww_96_int8", "kws_ref_model", "pretrainedResnet_quant", "mcunet_vww",
            "mobilenet_v2_int8_224"]
ON_M0 = ["person_detect", "kws_ref_model"]
ON_HOST = ["mobilenet_v2_int8_224"]
TARGETS = {"m3": 1.3, "m4": 1.6, "m7": 1.6, "m55": None, "cmsis-nn": 1.1}  # instructions, beside CMSIS-NN
MOST_STATE, MOST_STACK, MOST_SECONDS, MOST_STREAMED, LEAST_SPEED = 256, 1024, 1.0, 3.0, 3.0
LEAST_CONTROL_LIMIT, CONTROL_SHARE = 4096, 50  # bytes, or one part in so many of the weights
NOT_CONVOLUTIONAL = ["training", "bert", "gpt", "lstm_unrolled", "attention", "mixture", "encoder"]  # parts of names
MOST_OTHERS = 0.1  # processors that other programs may use while a time is measured
PACKAGES = ["bakenn==1.0.0", "ethos-u-vela", "tflite-micro", "flatbuffers", "tflite", "emx-onnx-cgen", "tflite2onnx"]
SANITIZED = "-std=c99 -O1 -fsanitize=address,undefined -fno-sanitize-recover=all".split()
HOST = """#include <stdio.h>
#include <time.h>
#include "network.h"
int main(void) {
  static uint64_t arena[NETWORK_ARENA_SIZE / 8 + 9];
  static int8_t input[NETWORK_INPUT_BYTES], output[NETWORK_OUTPUT_BYTES];
  double best = 1e9;
  for (int i = 0; i < 10; i++) {
    const clock_t begin = clock();
    network_run((void *)(((uintptr_t)arena + 63) / 64 * 64), input, output);
    const double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    if (seconds < best) best = seconds;
  }
  printf("%f\\n", best);
  return 0;
}
"""


def table(title, columns):
    print(f"\n### {title}\n\n| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|", flush=True)


def row(cells):
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def sources_of(folder):
    return [path.name for path in folder.glob("*.c") if path.name not in ("network_test.c", "cmsis.c", "host.c")]


class Bench:
    """What is the same for all models, packages that are made once, and what has missed its target."""

    def __init__(self, options, work):
        self.tables = options.tables.split(",")
        self.stowage = str(pathlib.Path(options.stowage).resolve())
        self.cores = options.cores.split(",")
        self.cases = options.cases
        self.limit = ["--time-limit", str(options.time_limit)]
        self.environment = pathlib.Path(options.environment).resolve()
        self.python = self.environment / "bin/python"
        self.work = work
        self.packages = {}
        self.missed = []
        if not self.python.exists():
            run([sys.executable, "-m", "venv", self.environment])
        for package in PACKAGES:  # one that cannot be had leaves its column empty
            attempt([self.python, "-m", "pip", "install", "-q", "--disable-pip-version-check",
                     *(["--no-deps"] if package.startswith("bakenn") else []), package])
        found = list(self.environment.glob("lib/python*/site-packages/bakenn/backend/cmsis_nn/vendor"))
        if not found:
            sys.exit("bakenn 1.0.0, which has CMSIS-NN, cannot be installed")
        self.vendor = found[0]
        self.includes = [f"-I{self.vendor / 'cmsis_nn/Include'}", f"-I{self.vendor / 'cmsis_core/Include'}"]

    def expect(self, what, value, target, at_most=True):
        """Notes a value that misses its target."""
        if target is None or (value <= target if at_most else value >= target):
            return
        self.missed.append(f"{what}: {value:g}, expected at {'most' if at_most else 'least'} {target:g} "
                           f"({abs(value / target - 1) * 100:.0f} % off)")

    def generate(self, model, folder, options):
        """What the command prints, by name."""
        printed = run([self.stowage, "generate", "--no-test", model, *options, "-o", folder, "--name", "network"])
        return {name: int(number) for name, number in re.findall(r"^(\w+) +(\d+)", printed, re.M)}

    def package(self, model, kernels, mode):
        """The folder of a package, and what its command printed: a string if it was refused."""
        key = (model.stem, kernels, mode)
        if key not in self.packages:
            folder = self.work / f"package_{len(self.packages)}"
            done = attempt([self.stowage, "generate", "--no-test", model, *self.limit, *MODES[mode],
                            "--kernels", kernels, "-o", folder, "--name", "network"])
            facts = {name: int(number) for name, number in re.findall(r"^(\w+) +(\d+)", done.stdout, re.M)}
            self.packages[key] = (folder, facts if done.returncode == 0 else reasons(done.stdout))
        return self.packages[key]

    def made(self, model, kernels, mode):
        """The same, of a package that must be there."""
        folder, facts = self.package(model, kernels, mode)
        if isinstance(facts, str):
            raise Failed(f"{model.stem}, {kernels}, {mode}: {facts}")
        return folder, facts

    def row(self, name, cells):
        """Prints what cells() gives, or why it gives nothing."""
        try:
            row([name, *cells()])
        except (Failed, OSError, ValueError, KeyError, IndexError, AttributeError) as error:
            what = " ".join(f"{type(error).__name__}: {error}".split())
            row([name, f"failed: {what[:200].replace('|', '/')}"])
            self.missed.append(f"{name}: {what}")


def reasons(output):
    """Why a package was refused: each reason once, without names of operators and tensors."""
    found = Counter()
    for line in output.splitlines():
        match = re.match(r"\s+operator .*?\((?:(\S+), )?\d+ of subgraph 0\): (.*)|\s+operator \d+ of subgraph 0 \((\S+)\): (.*)",
                         line)
        if match:
            kind, why = (match.group(1), match.group(2)) if match.group(2) else (match.group(3), match.group(4))
            found[f"{kind}: {why}"] += 1
    texts = [f"{many} {why}" for why, many in found.most_common(3)]
    return ("refused: " + "; ".join(texts)[:200]).replace("|", "/") if texts else refusal(output)


def share_of_others():
    """Processors that are busy while this program sleeps; none where the system does not say."""
    def busy():
        numbers = [int(word) for word in pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:]]
        return sum(numbers) - numbers[3] - numbers[4]
    if not pathlib.Path("/proc/stat").exists():
        return 0.0
    before, seconds = busy(), 2
    time.sleep(seconds)
    return (busy() - before) / os.sysconf("SC_CLK_TCK") / seconds


def seconds_of(measure):
    """A time, or None if other programs are running."""
    return None if share_of_others() > MOST_OTHERS else measure()


# Tables

def correct(bench, model, mode):
    """How many cases have the outputs of our interpreter, under sanitizers."""
    folder, facts = bench.package(model, "portable", mode)
    if isinstance(facts, str):
        if attempt([bench.stowage, "run", model]).returncode != 0:
            return "not run by our interpreter either"
        bench.missed.append(f"{model.stem}, {mode}: {facts}")
        return facts
    with tempfile.TemporaryDirectory() as name:
        own = pathlib.Path(name)
        bench.generate(model, own, ["--plan", folder / "plan.json", "--cases", bench.cases])
        run(["cc", *SANITIZED, *sources_of(own), "network_test.c", "-lm", "-o", "checked"], own)
        done = attempt([own / "checked"])
    match = re.search(r"(\d+) of (\d+) cases as expected", done.stdout)
    if done.returncode != 0 or not match or match.group(1) != match.group(2):
        bench.missed.append(f"{model.stem}, {mode}: outputs differ, or a sanitizer found something: {done.stdout[-300:]}")
    return match.group(0).replace(" cases as expected", "") if match else "fails"


def correctness_table(bench, models):
    table("Outputs equal to those of the interpreter, under address and undefined-behaviour sanitizers",
          ["model", *MODES])
    for model in models:
        bench.row(model.stem, lambda model=model: [correct(bench, model, mode) for mode in MODES])


def covered(bench, model, mode):
    """Whether C is generated; nothing is run."""
    with tempfile.TemporaryDirectory() as folder:
        done = attempt([bench.stowage, "generate", "--no-test", model, "--time-limit", 1, *MODES[mode], "--cases", 0,
                        "-o", folder, "--name", "network"])
    if done.returncode == 0:
        return re.search(r"arena +(\d+)", done.stdout).group(1)
    bench.missed.append(f"{model.stem}, {mode}: {reasons(done.stdout)}")
    return reasons(done.stdout)


def coverage_table(bench, models):
    table("Networks of the zoo: bytes of the arena (--time-limit 1), or why no C is generated", ["network", *MODES])
    for model in models:
        bench.row(model.stem, lambda model=model: [covered(bench, model, mode) for mode in MODES])


def memory_cells(bench, model):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        cells = [peers.tflm_arena(bench, model), peers.vela_sram(bench, model, folder),
                 peers.bakenn_arena(bench, model, folder), peers.emx_memory(bench, model, folder)]
    for mode in MODES:
        folder, facts = bench.package(model, "portable", mode)
        cells.append(facts if isinstance(facts, str) else facts["arena"] + facts["state"])
        if isinstance(facts, str):
            continue
        peaks = sum(it["peak"] for it in json.loads((folder / "plan.json").read_text())["memories"])
        if peaks != facts["arena"]:
            bench.missed.append(f"{model.stem}, {mode}: an arena of {facts['arena']} bytes, the plan's peak is {peaks}")
    return cells


def memory_table(bench, models):
    table("Bytes of memory: ours is arena and state",
          ["model", "TFLM arena with tail", "Vela SRAM", "BakeNN", "emx-onnx-cgen", *MODES])
    for model in models:
        bench.row(model.stem, lambda model=model: memory_cells(bench, model))


def make(bench, folder, core):
    """Stack and thousand instructions in QEMU."""
    options = []
    if "CMSIS_NN" in (folder / "Makefile").read_text():  # its library is compiled already
        (folder / f"cmsis_nn_{core}.o").write_bytes(peers.library(bench, core).read_bytes())
        options = [f"CMSIS_NN={bench.vendor / 'cmsis_nn'}", f"CMSIS_CORE={bench.vendor / 'cmsis_core'}", "LIBRARY=:"]
    return count(run(["make", core, *options], folder))


def measure(bench, model, kernels, mode, layers, whole):
    """A row of the table of instructions. Counts do not depend on what else runs, so cores take turns on all processors."""
    folder, facts = bench.made(model, kernels, mode)
    what = f"{model.stem}, {kernels}, {mode}"
    counts, deepest, most = {}, 0, 0.0
    cores = [core for core in KERNELS[kernels] if core in bench.cores]
    with ThreadPoolExecutor() as pool:
        results = list(pool.map(lambda core: make(bench, folder, core), cores))
    for core, (stack, thousand) in zip(cores, results):
        ratio, more = thousand / layers[core], (thousand / whole.setdefault((kernels, core), thousand) - 1) * 100
        counts[core] = f"{thousand} ({ratio:.2f})"
        deepest, most = max(deepest, stack), max(most, more, key=abs)
        bench.expect(f"{what}, {core}: instructions beside CMSIS-NN", round(ratio, 2),
                     TARGETS[core if kernels == "portable" else "cmsis-nn"])
        bench.expect(f"{what}, {core}: more instructions than by operators, in %", round(more, 1), MOST_STREAMED)
    bench.expect(f"{what}: state", facts["state"], MOST_STATE)
    bench.expect(f"{what}: stack", deepest, MOST_STACK)
    bench.expect(f"{what}: control", facts["control"], max(LEAST_CONTROL_LIMIT, facts["weights"] // CONTROL_SHARE))
    return [kernels, mode, facts["arena"], facts["state"], deepest, facts["arena"] + facts["state"] + deepest,
            facts["control"], *(counts.get(core, "") for core in bench.cores),
            "" if mode == BY_OPERATORS else f"{most:+.1f} %"]


def instruction_rows(bench, model):
    folder, _ = bench.made(model, "portable", BY_OPERATORS)
    for core in bench.cores:  # compiles CMSIS-NN before anything runs at once
        peers.library(bench, core)
    layers = {core: peers.count_cmsis(bench, folder, core) for core in bench.cores}
    row([model.stem, "CMSIS-NN, whole layers", *[""] * 6, *(layers[core] for core in bench.cores), ""])
    whole = {}
    for kernels, cores in KERNELS.items():
        for mode in MODES if set(cores) & set(bench.cores) else []:
            bench.row(model.stem, lambda kernels=kernels, mode=mode: measure(bench, model, kernels, mode, layers, whole))


def instruction_table(bench, models):
    table("Thousand instructions in QEMU (and beside CMSIS-NN's whole layers); RAM is arena, state and painted stack",
          ["model", "kernels", "mode", "arena", "state", "stack", "RAM", "control", *bench.cores, "to by operators"])
    for model in models:
        try:
            instruction_rows(bench, model)
        except Failed as error:
            bench.missed.append(f"{model.stem}, instructions: {error}")


def small_cells(bench, model):
    folder, facts = bench.made(model, "portable", BY_ROWS)
    done = attempt(["make", "m0"], folder)
    cases = re.search(r"\d+ of \d+ cases as expected", done.stdout)
    if done.returncode != 0 or not cases:
        raise Failed(f"m0: {refusal(done.stdout)}")
    return [BY_ROWS, facts["arena"], facts["state"], cases.group(0)]


def small_table(bench, models):
    table("micro:bit in QEMU: Cortex-M0, 256 kB of flash, 16 kB of RAM of which 1 kB is stack",
          ["model", "mode", "arena", "state", "outputs"])
    for model in models:
        bench.row(model.stem, lambda model=model: small_cells(bench, model))


def time_of_generation(bench, model, mode):
    folder, _ = bench.made(model, "portable", mode)
    with tempfile.TemporaryDirectory() as name:
        begin = os.times()
        bench.generate(model, name, ["--plan", folder / "plan.json"])
        end = os.times()
    return end.children_user + end.children_system - begin.children_user - begin.children_system


def generation_cells(bench, model):
    cells = []
    for mode in MODES:
        seconds = seconds_of(lambda mode=mode: time_of_generation(bench, model, mode))
        cells.append("not measured: busy machine" if seconds is None else f"{seconds:.2f}")
        bench.expect(f"{model.stem}, {mode}: seconds to generate", round(seconds or 0, 2), MOST_SECONDS)
    return cells


def generation_table(bench, models):
    table("Seconds of a processor that generation takes beyond planning", ["model", *MODES])
    for model in models:
        bench.row(model.stem, lambda model=model: generation_cells(bench, model))


def time_on_host(bench, model):
    folder, _ = bench.made(model, "portable", BY_OPERATORS)
    (folder / "host.c").write_text(HOST)
    run(["cc", "-std=c99", "-O3", *sources_of(folder), "host.c", "-lm", "-o", "host"], folder)
    return seconds_of(lambda: (float(run([folder / "host"])), peers.tflm_seconds(bench, model)))


def speed_cells(bench, model):
    times = time_on_host(bench, model)
    if times is None or times[1] is None:
        return ["not measured: " + ("busy machine" if times is None else "no tflite-micro"), "", ""]
    bench.expect(model.stem + ": times as fast as tflite-micro", round(times[1] / times[0], 2), LEAST_SPEED, False)
    return [*(f"{it:.4f}" for it in times), f"{times[1] / times[0]:.2f}"]


def speed_table(bench, models):
    table("Seconds of a run on this machine, one thread", ["model", "generated, cc -O3", "tflite-micro", "times as fast"])
    for model in models:
        bench.row(model.stem, lambda model=model: speed_cells(bench, model))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stowage", default="build/release/stowage")
    parser.add_argument("--cores", default="m3,m4,m7,m55")
    parser.add_argument("--environment", default="build/bench/venv", help="a folder for Python packages")
    parser.add_argument("--time-limit", type=float, default=5, help="seconds for each plan")
    parser.add_argument("--cases", type=int, default=20, help="inputs for which outputs are compared")
    parser.add_argument("--zoo", type=pathlib.Path, help="a folder of ONNX networks")
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("models", nargs="*")
    options = parser.parse_args()
    unknown = set(options.tables.split(",")) - set(TABLES)
    if unknown:
        parser.error(f"--tables: {', '.join(sorted(unknown))}, expected some of {', '.join(TABLES)}")
    given = {pathlib.Path(model).stem: pathlib.Path(model).resolve() for model in options.models}
    zoo = [path for path in sorted(options.zoo.resolve().glob("*.onnx"))
           if not any(part in path.stem for part in NOT_CONVOLUTIONAL)] if options.zoo else []
    models = {"coverage": zoo, "outputs": list(given.values()), "small": ON_M0, "speed": ON_HOST}
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(options, pathlib.Path(work))
        for name in bench.tables:
            of_table = models.get(name, MEASURED)
            TABLES[name](bench, [given[it] if isinstance(it, str) else it for it in of_table
                                 if not isinstance(it, str) or it in given])
    print("\nMissed:" if bench.missed else "\nAll targets that were measured are met.")
    for what in bench.missed:
        print(f"- {' '.join(what.split())}")
    print(f"\n{(time.monotonic() - begin) / 60:.0f} minutes")


TABLES = {"memory": memory_table, "small": small_table, "instructions": instruction_table,
          "generation": generation_table, "speed": speed_table, "outputs": correctness_table, "coverage": coverage_table}
main()
