"""What bench/generate.py measures generated C against: CMSIS-NN layer by layer, and memory and time of others."""
import csv
import json
import pathlib
import re
import subprocess

CORES = {"m3": "cortex-m3 mps2-an385", "m4": "cortex-m4 mps2-an386", "m7": "cortex-m7 mps2-an500",
         "m55": "cortex-m55 mps3-an547"}
PICOLIBC = "/usr/lib/picolibc/arm-none-eabi/include"
FLAGS = ("-O2 -mthumb -ffunction-sections --specs=picolibc.specs --crt0=semihost --oslib=semihost -Tpicolibc.ld "
         "-Wl,--gc-sections "
         "-Wl,--defsym=__ram_size=0x400000 -Wl,--defsym=__stack_size=16K").split()
LAYER = re.compile(r"/\* (\w+): 1x(\d+)x(\d+)x(\d+) to 1x(\d+)x(\d+)x(\d+) \*/\nstatic const stowage_conv_s8_layer (\w+) "
                   r"= \{\s*\{([^}]*)\},[^\n]*\n([^}]*)\};\n(.*?)\n}\n", re.S)
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

TO_ONNX = """
import sys, tflite2onnx
tflite2onnx.convert(sys.argv[1], sys.argv[2])
"""


LONGEST = 1200  # seconds of a program


def attempt(command, folder=None):
    command = list(map(str, command))
    try:
        return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              stdin=subprocess.DEVNULL, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, f"took more than {LONGEST} seconds")


class Failed(Exception):
    """A program that should have run did not."""


def run(command, folder=None):
    result = attempt(command, folder)
    if result.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))[:200]}: {result.stdout.strip()[-500:]}")
    return result.stdout


def machine(core):
    return [f"-mcpu={CORES[core].split()[0]}", f"-mfloat-abi={'hard' if core == 'm55' else 'soft'}",
            *([] if core == "m55" else ["-DSTOWAGE_MPS2"])]


def refusal(output):
    """The last line of what a program says, short enough for a table."""
    last = (output.strip().splitlines() or ["no output"])[-1]
    return "refused: " + last.split(": ", 1)[-1][:70].replace("|", "/")


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
    if not match:
        raise Failed(f"no count of instructions in: {output.strip()[-300:]}")
    return int(match.group(1)), int(match.group(2))


def count_cmsis(bench, folder, core):
    """`folder` has the network with portable kernels, by operators."""
    (folder / "cmsis.c").write_text(cmsis_program((folder / "network.c").read_text()))
    m55 = core == "m55"  # all is in DDR, only the vectors are at 0
    addresses = ["0x60000000", "0x1000000", "0x21000000"] if m55 else ["0", "0x400000", "0x20000000"]
    places = [f"-Wl,--defsym={name}={at}" for name, at in zip(("__flash", "__flash_size", "__ram"), addresses)]
    run(["arm-none-eabi-gcc", "-std=gnu99", *machine(core), *FLAGS, *places, "-DSTOWAGE_QEMU", *bench.includes,
         "cmsis.c", "network_weights.c", library(bench, core), "-lm", "-o", "cmsis.elf"], folder)
    run(["arm-none-eabi-objcopy", "-O", "binary", "-j", ".init", "cmsis.elf", "cmsis.vectors"], folder)
    return count(run(["qemu-system-arm", "-nographic", "-semihosting-config", "enable=on,target=native", "-icount",
                      "shift=0", "-M", CORES[core].split()[1], "-kernel", "cmsis.elf",
                      *(["-device", "loader,file=cmsis.vectors,addr=0,force-raw=on"] if m55 else [])], folder))[1]


def library(bench, core):
    """CMSIS-NN as one object, compiled once for each core as generated Makefiles compile it."""
    made = bench.work / f"cmsis_nn_{core}.o"
    if not made.exists():
        run(["arm-none-eabi-gcc", "-std=gnu99", "-O2", "-mthumb", "-ffunction-sections", "-w", "-isystem", PICOLIBC,
             *bench.includes, "-r", "-nostdlib", *sorted((bench.vendor / "cmsis_nn/Source").rglob("*.c")),
             *machine(core), "-o", made])
    return made


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
    return done.stdout.split()[-1] if done.returncode == 0 else refusal(done.stdout)


def emx_memory(bench, model, folder):
    """Stack and static memory of the C of emx-onnx-cgen, which has no arena; it reads ONNX, so tflite2onnx goes first."""
    if model.suffix != ".onnx":
        converted = attempt([bench.python, "-c", TO_ONNX, model, folder / "emx.onnx"])
        if converted.returncode != 0:
            return "tflite2onnx " + refusal(converted.stdout)
        model = folder / "emx.onnx"
    done = attempt([bench.environment / "bin/emx-onnx-cgen", "compile", "--large-temp-threshold", "1000000000", model,
                    folder / "emx.c"])
    if done.returncode != 0:
        return refusal(done.stdout)
    run(["arm-none-eabi-gcc", "-std=c99", "-O2", "-mthumb", "-mcpu=cortex-m4", "-fstack-usage", "-w", "-isystem", PICOLIBC,
         "-c", "emx.c", "-o", "emx.o"], folder)
    frames = [int(line.split("\t")[1]) for line in (folder / "emx.su").read_text().splitlines()]
    _, data, bss = map(int, run(["arm-none-eabi-size", folder / "emx.o"]).splitlines()[1].split()[:3])
    return max(frames) + data + bss


def tflm_seconds(bench, model):
    done = attempt([bench.python, "-c", TFLM, model])
    return float(done.stdout) if done.returncode == 0 else None
