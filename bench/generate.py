#!/usr/bin/env python3
"""Generated C beside what else there is: memory, instructions in QEMU, time on this machine, time of generation.

    bench/generate.py --stowage build/release/stowage MODEL.tflite ...

Needs qemu-system-arm, gcc-arm-none-eabi and picolibc-arm-none-eabi. Python packages go into a folder of their own
(--environment): CMSIS-NN 4.0.0 is in the wheel of bakenn 1.0.0; Vela, BakeNN and tflite-micro are compared with. Each
convolution, depthwise convolution and fully connected layer is one call of CMSIS-NN on whole tensors, and all other
operators are left out of that count; generated C counts all. Counts are instructions, not cycles. Prints tables in
Markdown, and what misses its target by how much."""
import argparse
import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

CORES = {"m3": "cortex-m3 mps2-an385", "m4": "cortex-m4 mps2-an386", "m7": "cortex-m7 mps2-an500",
         "m55": "cortex-m55 mps3-an547"}
KERNELS = {"m3": "cmsis-nn:scalar", "m4": "cmsis-nn:dsp", "m7": "cmsis-nn:dsp", "m55": "cmsis-nn:mve"}
MODES = {"by operators": [], "--stream": ["--stream", "--blocks", "none"],
         "--stream --io rows": ["--stream", "--io", "rows", "--blocks", "none"]}
TARGETS = {"m3": 1.3, "m4": 1.6, "m7": 1.6, "m55": None, "cmsis-nn": 1.1}  # instructions, beside CMSIS-NN
MOST_STATE, MOST_STACK, MOST_SECONDS, MOST_STREAMED, LEAST_SPEED = 256, 1024, 1.0, 3.0, 3.0
PACKAGES = ["bakenn==1.0.0", "ethos-u-vela", "tflite-micro", "flatbuffers", "tflite"]
FLAGS = ("-O2 -mthumb -ffunction-sections --specs=picolibc.specs --crt0=semihost --oslib=semihost -Tpicolibc.ld "
         "-Wl,--gc-sections "
         "-Wl,--defsym=__ram_size=0x400000 -Wl,--defsym=__stack_size=16K").split()
LAYER = re.compile(r"/\* (\w+): 1x(\d+)x(\d+)x(\d+) to 1x(\d+)x(\d+)x(\d+) \*/\nstatic const stowage_conv_s8_layer (\w+) "
                   r"= \{\s*\{([^}]*)\},[^\n]*\n([^}]*)\};\n(.*?)\n}\n", re.S)
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
TFLM = """
import sys, time, numpy
from tflite_micro import runtime
interpreter = runtime.Interpreter.from_file(sys.argv[1], arena_size=1 << 26)
details = interpreter.get_input_details(0)
interpreter.set_input(numpy.zeros(details["shape"], details["dtype"]), 0)
best = 1e9
for _ in range(10):
    begin = time.process_time()
    interpreter.invoke()
    best = min(best, time.process_time() - begin)
print(best)
"""
BAKENN = """
import json, pathlib, sys, bakenn
bakenn.compile_tflite(pathlib.Path(sys.argv[1]).read_bytes(), sys.argv[2])
memory = json.loads(next(pathlib.Path(sys.argv[2]).rglob("memory.json")).read_text())
print(memory.get("arena_bytes", memory))
"""


def attempt(command, folder=None):
    return subprocess.run(list(map(str, command)), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, stdin=subprocess.DEVNULL)


def run(command, folder=None):
    result = attempt(command, folder)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}:\n{result.stdout[-3000:]}")
    return result.stdout


def table(titles):
    print("\n| " + " | ".join(titles) + " |\n" + "|---" * len(titles) + "|", flush=True)


def row(cells):
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


class Bench:
    """What is the same for all models, and what has missed its target."""

    def __init__(self, options):
        self.stowage = str(pathlib.Path(options.stowage).resolve())
        self.cores = options.cores.split(",")
        self.limit = ["--time-limit", str(options.time_limit)]
        self.environment = pathlib.Path(options.environment).resolve()
        self.python = self.environment / "bin/python"
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
        self.make_options = [f"CMSIS_NN={self.vendor / 'cmsis_nn'}", f"CMSIS_CORE={self.vendor / 'cmsis_core'}"]

    def expect(self, what, value, target, at_most=True):
        """Notes a value that misses its target."""
        if target is None or (value <= target if at_most else value >= target):
            return
        self.missed.append(f"{what}: {value:g}, expected at {'most' if at_most else 'least'} {target:g} "
                           f"({abs(value / target - 1) * 100:.0f} % off)")

    def generate(self, model, folder, options):
        printed = run([self.stowage, "generate", model, *options, "-o", folder, "--name", "network"])
        return {name: int(number) for name, number in re.findall(r"^(\w+) +(\d+)", printed, re.M)}


# CMSIS-NN, whole layers

def cmsis_call(match):
    """A C block that computes a layer with one call of CMSIS-NN."""
    kind, in_h, in_w, in_c, out_h, out_w, out_c, _, shape, rest, body = match.groups()
    taps_h, taps_w, stride, dilation, before = [int(n) for n in shape.split(",")][4:9]
    text = re.sub(r"/\*.*?\*/", "", rest)
    _, weights, bias, multiplier, shift, zero_in, zero_out, least, most = [part.strip() for part in text.split(",")[:9]]
    top = re.search(r"stowage_window\(memory, &\w+, y(?: \* \d+)?(?: - (\d+))?,", body)
    top = int(top.group(1) or 0) if top else 0
    is_depthwise = kind == "DEPTHWISE_CONV_2D"
    params = (f"{-int(zero_in)}, {zero_out}, " + (f"{int(out_c) // int(in_c)}, " if is_depthwise else "") +
              f"{{{stride}, {stride}}}, {{{before}, {top}}}, {{{dilation}, {dilation}}}, {{{least}, {most}}}")
    filter_dims = f"1, {taps_h}, {taps_w}, {out_c}" if is_depthwise else f"{out_c}, {taps_h}, {taps_w}, {in_c}"
    function, struct = (("arm_depthwise_conv_wrapper_s8", "cmsis_nn_dw_conv_params") if is_depthwise else
                        ("arm_convolve_wrapper_s8", "cmsis_nn_conv_params"))
    return f"""  {{
    const {struct} params = {{{params}}};
    const cmsis_nn_dims in = {{1, {in_h}, {in_w}, {in_c}}}, filter = {{{filter_dims}}}, biases = {{1, 1, 1, {out_c}}};
    const cmsis_nn_dims out = {{1, {out_h}, {out_w}, {out_c}}};
    static int32_t shifts[{out_c}];
    const cmsis_nn_per_channel_quant_params factors = {{(int32_t *){multiplier}, shifts}};
    for (int i = 0; i < {out_c}; i++) shifts[i] = {shift}[i];
    uint32_t begin = stowage_ticks();
    {function}(&context, &params, &factors, &in, input, &filter, {weights}, &biases, {bias}, &out, output);
    ticks += stowage_ticks_since(begin);
  }}
"""


def cmsis_program(source):
    blocks = [cmsis_call(match) for match in LAYER.finditer(source)]
    return ('#include "arm_nnfunctions.h"\n#include "network_weights.h"\n#include "stowage_test.h"\n'
            "static int8_t input[2000000], output[1300000], scratch[200000];\n"
            "int main(void) {\n  uint32_t ticks = 0;\n  cmsis_nn_context context = {scratch, sizeof scratch};\n"
            "  stowage_start_ticks();\n" + "".join(blocks) +
            '  printf("stack 0 bytes, %lu thousand instructions\\n", (unsigned long)((uint64_t)ticks * 2000U / '
            "stowage_ticks_of_two_million()));\n  return 0;\n}\n")


def count(output):
    match = re.search(r"stack (\d+) bytes, (\d+) thousand", output)
    return int(match.group(1)), int(match.group(2))


def count_cmsis(bench, folder, core):
    """`folder` has the network with portable kernels, by operators."""
    (folder / "cmsis.c").write_text(cmsis_program((folder / "network.c").read_text()))
    sources = list((bench.vendor / "cmsis_nn/Source").rglob("*.c"))
    includes = [f"-I{bench.vendor / 'cmsis_nn/Include'}", f"-I{bench.vendor / 'cmsis_core/Include'}"]
    m55 = core == "m55"  # all is in DDR, only the vectors are at 0
    addresses = ["0x60000000", "0x1000000", "0x21000000"] if m55 else ["0", "0x400000", "0x20000000"]
    places = [f"-Wl,--defsym={name}={at}" for name, at in zip(("__flash", "__flash_size", "__ram"), addresses)]
    run(["arm-none-eabi-gcc", "-std=gnu99", f"-mcpu={CORES[core].split()[0]}",
         f"-mfloat-abi={'hard' if m55 else 'soft'}", *FLAGS, *places, "-DSTOWAGE_QEMU",
         *([] if m55 else ["-DSTOWAGE_MPS2"]), *includes, "cmsis.c", "network_weights.c", *sources, "-lm", "-o",
         "cmsis.elf"], folder)
    run(["arm-none-eabi-objcopy", "-O", "binary", "-j", ".init", "cmsis.elf", "cmsis.vectors"], folder)
    return count(run(["qemu-system-arm", "-nographic", "-semihosting-config", "enable=on,target=native", "-icount",
                      "shift=0", "-M", CORES[core].split()[1], "-kernel", "cmsis.elf",
                      *(["-device", "loader,file=cmsis.vectors,addr=0,force-raw=on"] if m55 else [])], folder))[1]


# Others

def tflm_arena(bench, model):
    inspected = attempt([bench.stowage, "inspect", model, "--json"])
    return json.loads(inspected.stdout)["arena"] if inspected.returncode == 0 else "refused"


def vela_sram(bench, model, folder):
    done = attempt([bench.environment / "bin/vela", model, "--accelerator-config", "ethos-u55-128", "--optimise", "Size",
                    "--output-dir", folder])
    summaries = list(folder.glob("*_summary_*.csv"))
    if done.returncode != 0 or not summaries:
        return "refused"
    with summaries[0].open() as lines:
        return round(float(next(csv.DictReader(lines))["sram_memory_used"]) * 1024)


def bakenn_arena(bench, model, folder):
    done = attempt([bench.python, "-c", BAKENN, model, folder])
    if done.returncode == 0:
        return done.stdout.split()[-1]
    last = (done.stdout.strip().splitlines() or ["no output"])[-1]
    return "refused: " + last.split(": ", 1)[-1][:70].replace("|", "/")


def speeds(bench, model, folder):
    """Seconds of a run on this machine: ours, and tflite-micro's."""
    bench.generate(model, folder, bench.limit)
    (folder / "host.c").write_text(HOST)
    sources = [path.name for path in folder.glob("*.c") if not path.name.endswith("_test.c")]
    run(["cc", "-std=c99", "-O3", *sources, "-lm", "-o", "host"], folder)
    theirs = attempt([bench.python, "-c", TFLM, model])
    return float(run([folder / "host"])), float(theirs.stdout) if theirs.returncode == 0 else None


# Tables

def memory_table(bench, models):
    table(["model", "TFLM arena with tail", "Vela SRAM", "BakeNN", "emx-onnx-cgen", *MODES])
    for model in models:
        cells = [model.stem, tflm_arena(bench, model)]
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            cells += [vela_sram(bench, model, folder), bakenn_arena(bench, model, folder), "takes ONNX only"]
        for options in MODES.values():
            with tempfile.TemporaryDirectory() as name:
                facts = bench.generate(model, name, [*bench.limit, *options])
                cells.append(facts["arena"] + facts["state"])
        row(cells)


def measure(bench, model, folder, core, kernels, options):
    """Arena, state, stack, control, thousand instructions, and seconds behind planning."""
    facts = bench.generate(model, folder, [*bench.limit, *options, "--kernels", kernels])
    begin = os.times()
    bench.generate(model, folder, ["--plan", folder / "plan.json", "--kernels", kernels])
    end = os.times()
    seconds = end.children_user + end.children_system - begin.children_user - begin.children_system
    stack, thousand = count(run(["make", core, *bench.make_options], folder))
    return facts["arena"], facts["state"], stack, facts["control"], thousand, seconds


def instruction_table(bench, models):
    table(["model", "core", "kernels", "mode", "arena", "state", "stack", "RAM", "control", "thousand instructions",
           "CMSIS-NN", "ratio", "to by operators", "seconds of a processor to generate"])
    for model in models:
        for core in bench.cores:
            whole = {}
            cmsis = 0
            for kernels in ("portable", KERNELS[core]):
                for mode, options in MODES.items():
                    with tempfile.TemporaryDirectory() as name:
                        folder = pathlib.Path(name)
                        arena, state, stack, control, thousand, seconds = measure(bench, model, folder, core, kernels,
                                                                                  options)
                        cmsis = cmsis or count_cmsis(bench, folder, core)
                    base = whole.setdefault(kernels, thousand)
                    row([model.stem, core, kernels, mode, arena, state, stack, arena + state + stack, control, thousand,
                         cmsis, f"{thousand / cmsis:.2f}", f"{(thousand / base - 1) * 100:+.1f} %", f"{seconds:.2f}"])
                    what = f"{model.stem}, {core}, {kernels}, {mode}: "
                    bench.expect(what + "ratio", round(thousand / cmsis, 2),
                                 TARGETS[core if kernels == "portable" else "cmsis-nn"])
                    bench.expect(what + "more instructions than by operators, in %",
                                 round((thousand / base - 1) * 100, 1), MOST_STREAMED)
                    bench.expect(what + "state", state, MOST_STATE)
                    bench.expect(what + "stack", stack, MOST_STACK)
                    bench.expect(what + "seconds to generate", round(seconds, 2), MOST_SECONDS)


def speed_table(bench, models):
    table(["model", "this machine, cc -O3, one thread", "tflite-micro", "times as fast"])
    for model in models:
        with tempfile.TemporaryDirectory() as name:
            ours, theirs = speeds(bench, model, pathlib.Path(name))
        row([model.stem, f"{ours:.4f} s", f"{theirs:.4f} s" if theirs else "none",
             f"{theirs / ours:.2f}" if theirs else ""])
        if theirs and model.stem == "mobilenet_v2_int8_224":
            bench.expect(model.stem + ": times as fast as tflite-micro", round(theirs / ours, 2), LEAST_SPEED, False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stowage", default="build/release/stowage")
    parser.add_argument("--cores", default="m3,m4,m7,m55")
    parser.add_argument("--environment", default="build/bench/venv", help="a folder for Python packages")
    parser.add_argument("--time-limit", type=float, default=2, help="seconds for each plan")
    parser.add_argument("models", nargs="+")
    options = parser.parse_args()
    bench = Bench(options)
    models = [pathlib.Path(model).resolve() for model in options.models]
    memory_table(bench, models)
    instruction_table(bench, models)
    speed_table(bench, [model for model in models if model.stem.startswith("mobilenet")])
    print("\nMissed:" if bench.missed else "\nAll targets are met.")
    for what in bench.missed:
        print(f"- {what}")


main()
