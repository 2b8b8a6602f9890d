"""How low streaming brings networks: every plan is run with --check=all and verified against its model.

usage: stream.py --stowage PROGRAM --zoo FOLDER [--data FOLDER] [--time-limit SECONDS] [NAME...]

Peaks are of the packed arena in bytes. `by layers` is the peak of the same network without --stream, `bound` what no
order of rows needs less than, `gap` the peak over it. A target of 0 is none.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

# name, rows of a granule, target with the input in the arena, target with rows; of float32 networks four times what
# int8 would have
NETWORKS = (
    ("mobilenet_v1", 1, 4 * 198016, 4 * 129696),
    ("mobilenet_v2", 1, 4 * 192361, 4 * 103126),
    ("mobilenet_v2_w035", 1, 4 * 63000, 4 * 19080),
    ("resnet50", 1, 4 * 375000, 4 * 375000),
    ("encoder_layer", 8, 4 * 4718592 / 2.9, 0),
    ("encoder_by_heads", 8, 4 * 3538944 / 4, 0),
    ("mobilenet_v2_int8_224", 1, 197000, 108000),
    ("person_detect", 1, 12288, 10080),
    ("vww_96_int8", 1, 28032, 10272),
    ("mcunetv2_large", 1, 0, 0),
    ("efficientnet_b0", 1, 0, 0),
    ("unet", 1, 0, 0),
    ("encoder_12_layers", 8, 0, 0),
)

# name, multiplies that may be run, target with rows
RECOMPUTED = (("mobilenet_v2", "1.12", 4 * 61600), ("mobilenet_v2_w035", "1.09", 4 * 10908))


def file_of(name, options):
    made = options.zoo / f"stream_{name}.onnx"
    return made if made.exists() else options.data / "models" / "tflite" / f"{name}.tflite"


def run(command):
    """Its document and how long it took; the program says itself what went wrong."""
    begin = time.perf_counter()
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout, time.perf_counter() - begin


def measure(name, io, granule, target, options, folder, factor="1.0"):
    file = file_of(name, options)
    planning = ["--align", "16", "--time-limit", options.time_limit * (3 if "encoder" in name else 1)]
    layers = json.loads(run([options.stowage, "plan", file, *planning, "--io", "arena", "--json"])[0])
    plan_file = folder / "plan.json"
    stdout, seconds = run([options.stowage, "plan", file, *planning, "--stream", "--io", io, "--granule", granule,
                           "--recompute", factor, "-o", plan_file, "--json"])
    plan = json.loads(stdout)
    result = json.loads(run([options.stowage, "run", file, "--plan", plan_file, "--check=all", "--random-weights", "1",
                             "--json"])[0])
    run([options.stowage, "verify", plan_file, "--model", file])
    peak = plan["summary"]["peak"]
    bound = next(c["lower_bound"] for c in plan["claims"] if c["scope"] == "stream")
    multiplies = result["multiplies"]["factor"]
    met = "" if target == 0 else "met" if peak <= target else f"missed by {100 * (peak / target - 1):.1f} %"
    print(f"{name:22} {io:5} {layers['summary']['peak']:10} {peak:10} {layers['summary']['peak'] / peak:6.2f} "
          f"{bound:10} {100 * (peak / bound - 1):6.2f} {multiplies:10.4f} {seconds:7.1f} {int(target):10} {met}",
          flush=True)


def main():
    parser = argparse.ArgumentParser(description="How low streaming brings networks.")
    parser.add_argument("--stowage", type=pathlib.Path, required=True)
    parser.add_argument("--zoo", type=pathlib.Path, required=True, help="a folder with networks of bench/zoo")
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--time-limit", type=float, default=9, help="seconds for each plan, of encoders three times as many")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    print(f"{'network':22} {'io':5} {'by layers':>10} {'streamed':>10} {'times':>6} {'bound':>10} {'gap %':>6} "
          f"{'multiplies':>10} {'plan s':>7} {'target':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for name, granule, arena, rows in NETWORKS:
            if options.names and name not in options.names:
                continue
            if not file_of(name, options).exists():
                print(f"{name:22} is not there")
                continue
            measure(name, "arena", granule, arena, options, pathlib.Path(folder))
            measure(name, "rows", granule, rows, options, pathlib.Path(folder))
        for name, factor, rows in RECOMPUTED:
            if (not options.names or name in options.names) and file_of(name, options).exists():
                measure(name, "rows", 1, rows, options, pathlib.Path(folder), factor)


if __name__ == "__main__":
    main()
