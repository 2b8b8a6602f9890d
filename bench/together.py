#!/usr/bin/env python3
"""Measures what plans with rows, several memories, moves and weights together aim at.

    bench/together.py build/release/stowage MODELS [--effort N] [--only TEXT]

MODELS has onnx/ and tflite/. Prints a Markdown table: the bytes that one inference reads from and writes to slow
memories, as the plan's replay counts them (`memories` of its JSON), beside the target. A second table has peaks of several
models by rows in one memory. SRAM is the capacity of the fast
memory. "spilled": with PSRAM alone, what rows need beyond the fast memory; inputs arrive row by row and do not count.
"all": with weights in flash, too; bytes of PSRAM and flash together. Whole operators are planned by the same program
with the same memories and moves. The last column has the seconds of a processor that the plan took.
"""

import argparse
import json
import pathlib
import resource
import subprocess
import tempfile

KIB = 1024
TARGETS = [  # model, SRAM, what counts, the most bytes
    ("person_detect.tflite", 5808, "spilled", 34_000),
    ("person_detect.tflite", 9696, "spilled", 0),
    ("person_detect.tflite", 9696, "all", 425_000),
    ("person_detect.tflite", 16384, "all", 295_000),
    ("person_detect.tflite", 24576, "all", 219_000),
    ("mcunet_vww.tflite", 8512, "spilled", 36_000),
    ("mcunet_vww.tflite", 11360, "spilled", 0),
    ("mcunet_vww.tflite", 16384, "all", 620_000),
    ("mcunet_vww.tflite", 32768, "all", 447_000),
    ("mobilenet_v2_int8_224.tflite", 64 * KIB, "spilled", 300_000),
    ("mobilenet_v2_int8_224.tflite", 96 * KIB, "spilled", 0),
    ("mobilenet_v2_int8_224.tflite", 64 * KIB, "all", 6_800_000),
    ("mobilenet_v2_int8_224.tflite", 96 * KIB, "all", 4_700_000),
    ("mobilenet_v2_int8_224.tflite", 128 * KIB, "all", 4_100_000),
    ("mobilenet_v2_int8_224.tflite", 192 * KIB, "all", 3_545_000),
    ("mobilenet_v2_int8_224.tflite", 256 * KIB, "all", 3_545_000),
    ("light_resnet50.onnx", 716_000, "spilled", 15_000_000),
    ("light_resnet50.onnx", 716_000, "all", 250_000_000),
    ("light_densenet121.onnx", 871_000, "spilled", 3_000_000),
    ("light_inception_v1.onnx", 597_000, "spilled", 1_600_000),
]


PERSON, WORDS, SPEECH = "person=person_detect", "words=kws_ref_model", "speech=micro_speech_quantized"
PEAKS = [  # models, how they run, the most bytes
    ([PERSON, WORDS, SPEECH], "person | words | speech", 17488),
    ([PERSON, SPEECH], "person ^20 speech", 12000),
]


def peak(stowage, models, run, effort):
    """The peak of models by rows, and seconds of a processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    out = subprocess.run([stowage, "plan", *models, "--run", run, "--stream", "--io", "rows", "--align", "16", "--effort",
                          str(effort), "--json"], check=True, capture_output=True, text=True).stdout
    return json.loads(out)["summary"]["peak"], resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def slow_bytes(stowage, model, sram, counted, effort, options):
    """Bytes of all memories but the first, and seconds of a processor."""
    memories = ["--memory", f"SRAM={sram}", "--memory", "PSRAM@10"]
    if counted == "all":
        memories += ["--memory", "FLASH@10:weights"]
    with tempfile.TemporaryDirectory() as folder:
        plan = pathlib.Path(folder) / "plan.json"
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run([stowage, "plan", model, *memories, "--moves", "--align", "16", "--effort", str(effort), *options,
                        "--quiet", "-o", plan], check=True, stdout=subprocess.DEVNULL)
        seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        traffic = sum(memory.get("traffic", 0) for memory in json.loads(plan.read_text())["memories"][1:])
    return traffic, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stowage", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("--effort", type=int, default=20000)
    parser.add_argument("--only", default="", help="a part of a model's name")
    options = parser.parse_args()
    print("| model | SRAM | counted | whole operators | by rows | target | | s |\n|---|---|---|---|---|---|---|---|")
    for name, sram, counted, target in TARGETS:
        if options.only not in name:
            continue
        model = options.models / name.rpartition(".")[2] / name
        question = options.stowage, model, sram, counted, options.effort
        whole, _ = slow_bytes(*question, ["--io", "external"])
        rows, seconds = slow_bytes(*question, ["--stream", "--io", "rows"])
        verdict = "met" if rows <= target else f"{rows / target:.2f} times" if target > 0 else "missed"
        print(f"| {model.stem} | {sram} | {counted} | {whole} | {rows} | {target} | {verdict} | {seconds:.0f} |", flush=True)
    print("\n| models by rows | peak | target | | s |\n|---|---|---|---|---|")
    for models, run, target in PEAKS:
        if not any(options.only in name for name in models):
            continue
        files = [f"{it.partition('=')[0]}={options.models / 'tflite' / it.partition('=')[2]}.tflite" for it in models]
        bytes_needed, seconds = peak(options.stowage, files, run, options.effort)
        verdict = "met" if bytes_needed <= target else f"{bytes_needed / target:.2f} times"
        name = run.replace("|", "\\|")
        print(f"| {name} | {bytes_needed} | {target} | {verdict} | {seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main()
