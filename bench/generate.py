#!/usr/bin/env python3
"""Generated C beside CMSIS-NN: instructions in QEMU, memory, and the time that generation takes.

    bench/generate.py --stowage build/release/stowage MODEL.tflite ...

Needs qemu-system-arm, gcc-arm-none-eabi and picolibc-arm-none-eabi. CMSIS-NN is taken from the wheel of bakenn 1.0.0,
which pip downloads, and each convolution, depthwise convolution and fully connected layer is one call on whole tensors;
all other operators are left out. Counts are instructions, not cycles. Prints a table in Markdown."""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import zipfile

CORES = {"m3": "cortex-m3 mps2-an385", "m4": "cortex-m4 mps2-an386", "m7": "cortex-m7 mps2-an500",
         "m55": "cortex-m55 mps3-an547"}
MODES = {"by operators": [], "--stream": ["--stream"], "--stream --io rows": ["--stream", "--io", "rows"]}
FLAGS = ("-O2 -mthumb -ffunction-sections --specs=picolibc.specs --crt0=semihost --oslib=semihost -Tpicolibc.ld "
         "-Wl,--gc-sections -Wl,--defsym=__flash=0 -Wl,--defsym=__flash_size=0x400000 "
         "-Wl,--defsym=__ram_size=0x400000 -Wl,--defsym=__stack_size=16K").split()
LAYER = re.compile(r"/\* (\w+): 1x(\d+)x(\d+)x(\d+) to 1x(\d+)x(\d+)x(\d+) \*/\nstatic const stowage_conv_s8_layer (\w+) "
                   r"= \{\s*\{([^}]*)\},[^\n]*\n([^}]*)\};\n(.*?)\n}\n", re.S)


def run(command, folder=None):
    result = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            stdin=subprocess.DEVNULL)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}:\n{result.stdout}")
    return result.stdout


def fetch_cmsis(folder):
    run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder), "bakenn==1.0.0"])
    with zipfile.ZipFile(next(folder.glob("bakenn*.whl"))) as wheel:
        wheel.extractall(folder)
    return folder / "bakenn/backend/cmsis_nn/vendor"


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


def qemu(folder, core, name):
    return run(["qemu-system-arm", "-nographic", "-semihosting-config", "enable=on,target=native", "-icount", "shift=0",
                "-M", CORES[core].split()[1], "-kernel", name], folder)


def count_cmsis(folder, vendor, core):
    (folder / "cmsis.c").write_text(cmsis_program((folder / "network.c").read_text()))
    sources = [str(path) for path in (vendor / "cmsis_nn/Source").rglob("*.c")]
    includes = [f"-I{vendor / 'cmsis_nn/Include'}", f"-I{vendor / 'cmsis_core/Include'}"]
    ram = "0x21000000" if core == "m55" else "0x20000000"
    floats = "hard" if core == "m55" else "soft"
    run(["arm-none-eabi-gcc", "-std=gnu99", f"-mcpu={CORES[core].split()[0]}", f"-mfloat-abi={floats}", *FLAGS,
         f"-Wl,--defsym=__ram={ram}", "-DSTOWAGE_QEMU", *([] if core == "m55" else ["-DSTOWAGE_MPS2"]), *includes, "cmsis.c", "network_weights.c", *sources, "-lm", "-o",
         "cmsis.elf"], folder)
    return count(qemu(folder, core, "cmsis.elf"))[1]


def figures(printed):
    return {name: int(number) for name, number in re.findall(r"^(\w+) +(\d+)", printed, re.M)}


def bench(model, stowage, vendor, cores, out):
    cmsis = {}
    for mode, options in MODES.items():
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            run([stowage, "plan", model, *options, "-o", str(folder / "ready.json")])
            begin = time.monotonic()
            printed = run([stowage, "generate", model, "--plan", str(folder / "ready.json"), "-o", name, "--name",
                           "network"])
            seconds = time.monotonic() - begin
            facts = figures(printed)
            for core in cores:
                stack, thousand = count(run(["make", core], folder))
                if mode == "by operators":
                    cmsis[core] = count_cmsis(folder, vendor, core)
                row = [pathlib.Path(model).stem, mode, core, facts["arena"], facts["state"], stack, facts["control"],
                       thousand, cmsis[core], f"{thousand / cmsis[core]:.2f}", f"{seconds:.2f}"]
                print("| " + " | ".join(map(str, row)) + " |", file=out, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stowage", default="build/release/stowage")
    parser.add_argument("--cores", default="m3,m4,m7,m55")
    parser.add_argument("models", nargs="+")
    options = parser.parse_args()
    stowage = str(pathlib.Path(options.stowage).resolve())
    with tempfile.TemporaryDirectory() as name:
        vendor = fetch_cmsis(pathlib.Path(name))
        print("| model | mode | core | arena | state | stack | control | thousand instructions | CMSIS-NN | ratio | "
              "seconds to generate |\n|---|---|---|---|---|---|---|---|---|---|---|")
        for model in options.models:
            bench(str(pathlib.Path(model).resolve()), stowage, vendor, options.cores.split(","), sys.stdout)


main()
