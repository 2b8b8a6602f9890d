"""Runs networks in the order that the search finds, every tensor compared with a run that shares nothing.

usage: orders.py --stowage PROGRAM [--time-limit SECONDS] FILE...

One row per network: most live bytes of a step in its own order and in the plan's, operators that run elsewhere than in
the file's order, what the run found, and the seconds of both together. Training steps are not for running and passed
over. What cannot be run is named with the reason. Exit status 1 if any run found a fault.
"""

import argparse
import bisect
import json
import pathlib
import subprocess
import sys
import tempfile
import time


def run(command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)


def away_from_file_order(plan):
    """Steps that do not come in the order of the file: those that are not in a longest increasing sequence."""
    ends = []
    paths = [step["run"]["path"] for step in plan["clocks"][0]["steps"]]
    for path in paths:
        at = bisect.bisect_left(ends, path)
        ends[at : at + 1] = [path]
    return len(paths) - len(ends)


def measure(file, options, folder):
    """The row's numbers and verdict."""
    plan_file = folder / "plan.json"
    plan_file.unlink(missing_ok=True)
    begin = time.perf_counter()
    done = run([options.stowage, "run", file, "--order", "search", "--time-limit", options.time_limit, "--check=all",
                "--random-weights", "1", "-o", plan_file, "--json"])
    seconds = time.perf_counter() - begin
    if done.returncode == 3:
        return None, "cannot be run: " + done.stderr.strip().replace("\n", " ")[:150], seconds
    if not plan_file.exists():
        return None, f"status {done.returncode}: {done.stderr.strip()[:300]}", seconds
    plan = json.loads(plan_file.read_text())
    result = json.loads(done.stdout)
    verdict = "clean" if done.returncode == 0 and result["verdict"] == "done" else f"{result['verdict']}: {result['fault']}"
    search = plan["order_searches"][0]
    return (search["own_load"], search["load"], away_from_file_order(plan), len(plan["clocks"][0]["steps"])), verdict, seconds


def main():
    parser = argparse.ArgumentParser(description="Runs networks in orders that were searched for.")
    parser.add_argument("--stowage", type=pathlib.Path, required=True)
    parser.add_argument("--time-limit", default="3")
    parser.add_argument("files", type=pathlib.Path, nargs="+")
    options = parser.parse_args()
    counts = {"clean": 0, "moved": 0, "not run": 0, "faults": 0}
    print(f"{'network':26} {'steps':>6} {'own':>10} {'planned':>10} {'moved':>6} {'s':>7} run")
    with tempfile.TemporaryDirectory() as folder:
        for file in options.files:
            if file.stem.endswith("_training"):
                continue
            numbers, verdict, seconds = measure(file, options, pathlib.Path(folder))
            own, load, moved, steps = numbers or ("", "", "", "")
            counts["clean"] += verdict == "clean"
            counts["moved"] += verdict == "clean" and moved > 0
            counts["not run"] += verdict.startswith("cannot")
            counts["faults"] += verdict != "clean" and not verdict.startswith("cannot")
            print(f"{file.stem:26} {steps:>6} {own:>10} {load:>10} {moved:>6} {seconds:7.1f} {verdict}", flush=True)
    print(f"{counts['clean']} clean, {counts['moved']} of them in an order of their own; {counts['not run']} cannot be "
          f"run, {counts['faults']} faults")
    sys.exit(1 if counts["faults"] else 0)


if __name__ == "__main__":
    main()
