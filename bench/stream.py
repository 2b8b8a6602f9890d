"""How low streaming brings networks: every plan is run with --check=all and verified against its model.

usage: stream.py --stowage PROGRAM --zoo FOLDER [--data FOLDER] [--time-limit SECONDS] [--vela PROGRAM] [NAME...]

One line for each network and place of its inputs. Peaks are of the packed arena in bytes:

    by layers   without --stream
    streamed    with --stream; `target` is what it should reach, `missed` how far it is above
    load        live bytes of the order; `pack` is the peak above it
    affine      live bytes of the best affine schedule; `above` is how far it is above the load
    bound       no order of rows needs less; `gap` is the peak above it
    x           multiplies that were run, as a multiple of the network's
    Vela        SRAM that Arm's Vela plans for an Ethos-U55 with --optimise Size (for int8, inputs in the arena)
"""

import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass


@dataclass
class Case:
    name: str
    io: str
    target: int = 0  # none
    granule: int = 1
    recompute: float = 1.0


def both(name, arena=0, rows=0, granule=1):
    return Case(name, "arena", arena, granule), Case(name, "rows", rows, granule)


CASES = (
    *both("mobilenet_v2_int8_224", 185000, 91000),
    Case("mobilenet_v2_int8_224", "rows", 65000, recompute=1.05),
    Case("mobilenet_v2_int8_224", "rows", 46500, recompute=1.12),
    *both("person_detect", 0, 9312),
    Case("person_detect", "rows", 9312, recompute=1.05),
    *both("vww_96_int8", 0, 9504),
    *both("mcunet_vww", 0, 17500),
    *both("mcunetv2_large"),
    *both("light_densenet121", 1250000, 1105000),
    *both("light_squeezenet"),
    *both("light_inception_v1"),
    *both("stream_resnet50", 1345000, 1345000),
    *both("stream_mobilenet_v1"),
    *both("stream_mobilenet_v2"),
    Case("stream_mobilenet_v2", "rows", 4 * 61600, recompute=1.12),
    *both("stream_mobilenet_v2_w035"),
    Case("stream_mobilenet_v2_w035", "rows", 4 * 10908, recompute=1.09),
    *both("stream_efficientnet_b0"),
    *both("stream_unet"),
    *both("stream_line", 0, 1400),
    *both("stream_wide", 0, 5200),
    *both("stream_style"),
    *both("stream_speech"),
    *both("stream_speech_reverse"),
    *both("stream_encoder_layer", 0, 0, granule=8),
    *both("stream_encoder_12_layers", 5111808, 0, granule=8),
    Case("stream_encoder_12_layers", "arena", 3450000, granule=8, recompute=1.0),
    *both("stream_encoder_by_heads", 0, 0, granule=8),
    Case("stream_encoder_by_heads", "arena", 2650000, granule=8, recompute=1.15),
    Case("stream_encoder_by_heads", "rows", 2650000, granule=8, recompute=1.15),
    Case("bert_base", "arena"),
    Case("gpt2_decoder", "arena"),
    Case("amoebanet_cifar", "arena"),
    Case("darts_v2_cifar", "arena"),
    Case("nasnet_cifar", "arena"),
    Case("pnasnet_cifar", "arena"),
    Case("randwire_ws128", "arena"),
)

HEAD = (f"{'network':24} {'io':5} {'by layers':>10} {'streamed':>10} {'load':>10} {'pack %':>6} {'affine':>10} "
        f"{'above %':>7} {'bound':>10} {'gap %':>7} {'x':>6} {'plan s':>6} {'Vela':>8} {'target':>8} missed")


def file_of(name, options):
    places = (options.zoo / f"{name}.onnx", options.data / "models" / "tflite" / f"{name}.tflite",
              options.data / "models" / "onnx" / f"{name}.onnx")
    return next((place for place in places if place.exists()), None)


def run(command):
    """Its output and how long it took; the program says itself what went wrong."""
    begin = time.perf_counter()
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout, time.perf_counter() - begin


def sram_of_vela(file, options, folder):
    """Empty if Vela is not there or does not take the network."""
    if options.vela is None or file.suffix != ".tflite":
        return ""
    out = folder / "vela"
    done = subprocess.run([str(options.vela), str(file), "--accelerator-config", "ethos-u55-128", "--optimise", "Size",
                           "--output-dir", str(out)], capture_output=True, text=True, check=False)
    summaries = list(out.glob(f"{file.stem}_summary_*.csv"))
    if done.returncode != 0 or not summaries:
        return ""
    with summaries[0].open() as lines:
        row = next(csv.DictReader(lines))
    return str(round(float(row["sram_memory_used"]) * 1024))


def above(value, base):
    return 100 * (value / base - 1) if base else 0.0


def measure(case, options, folder):
    file = file_of(case.name, options)
    if file is None:
        print(f"{case.name:24} is not there")
        return
    planning = ["--align", "16", "--time-limit", options.time_limit]
    layers = json.loads(run([options.stowage, "plan", file, *planning, "--io", "arena", "--json"])[0])
    plan_file = folder / "plan.json"
    stdout, seconds = run([options.stowage, "plan", file, *planning, "--stream", "--io", case.io, "--granule",
                           case.granule, "--recompute", case.recompute, "-o", plan_file, "--json"])
    plan = json.loads(stdout)
    result = json.loads(run([options.stowage, "run", file, "--plan", plan_file, "--check=all", "--random-weights", "1",
                             "--json"])[0])
    run([options.stowage, "verify", plan_file, "--model", file])
    peak = plan["summary"]["peak"]
    stream = plan.get("streaming")  # null: rows gain nothing, the plan is by layers
    load = stream["load"] if stream else peak
    affine = stream["affine"]["load"] if stream and stream.get("affine") else load
    bound = min(claim["lower_bound"] for claim in plan["claims"]) if not stream else next(
        claim["lower_bound"] for claim in plan["claims"] if claim["scope"] in ("stream", "rows"))
    missed = "" if case.target == 0 else "met" if peak <= case.target else f"{above(peak, case.target):.1f} %"
    factor = result.get("multiplies", {}).get("factor", 1.0)
    vela = sram_of_vela(file, options, folder) if case.io == "arena" else ""
    print(f"{case.name:24} {case.io:5} {layers['summary']['peak']:10} {peak:10} {load:10} {above(peak, load):6.2f} "
          f"{affine:10} {above(affine, load):7.2f} {bound:10} {above(peak, bound):7.2f} "
          f"{factor:6.3f} {seconds:6.1f} {vela:>8} {case.target or '':>8} {missed}", flush=True)


def main():
    parser = argparse.ArgumentParser(description="How low streaming brings networks.")
    parser.add_argument("--stowage", type=pathlib.Path, required=True)
    parser.add_argument("--zoo", type=pathlib.Path, required=True, help="a folder with networks of bench/zoo")
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--time-limit", type=float, default=10, help="seconds for each plan")
    parser.add_argument("--vela", type=pathlib.Path, help="Arm's Vela, of the PyPI package ethos-u-vela")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    print(HEAD)
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            if not options.names or case.name in options.names:
                measure(case, options, pathlib.Path(folder))


if __name__ == "__main__":
    main()
