#!/usr/bin/env python3
"""How well --effort keeps its word: the processor time of planning as a multiple of the effort.

usage: effort.py --stowage PROGRAM [--efforts 1000,3000] [--strategies auto,exact,..] [--stream arena,rows]
                 [--options "--memory A=2MiB --memory B"] FILE...

Each file is planned on one thread, once for each effort, and each strategy (lists) or place of the inputs (models by
rows; "whole" is without rows). A cell has the user time of the process by the effort, without the time of reading,
which a plan by the quickest strategy takes; behind it what the plan counts, and "end" if it ended before the effort.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

LISTS = ("auto", "from-peak", "ejection", "exact", "rectangle", "rings")


def planned(stowage, words):
    """User seconds, and the plan; none if the strategy does not apply."""
    command = [stowage, "plan", *words, "--threads", "1", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime, json.loads(text) if process.returncode == 0 else None


def cell(stowage, path, words, effort, reading):
    seconds, plan = planned(stowage, [path, *words, "--effort", str(effort)])
    if plan is None:
        return "-"
    ratio = (seconds - reading) / (effort / 1000)
    counted = plan["summary"]["seconds"]
    has_ended = not plan["interrupted"] and counted < 0.8 * effort / 1000
    return f"{ratio:.2f} {counted:.2f}" + (" end" if has_ended else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stowage", required=True)
    parser.add_argument("--efforts", default="1000")
    parser.add_argument("--strategies", default=",".join(LISTS))
    parser.add_argument("--stream", default="whole,arena,rows")
    parser.add_argument("--options", default="", help="further options of the plans")
    parser.add_argument("files", nargs="+", metavar="FILE")
    settings = parser.parse_args()
    efforts = [int(effort) for effort in settings.efforts.split(",")]
    for path in settings.files:
        name = pathlib.Path(path).stem
        if path.endswith(".csv"):
            kinds = {strategy: ["--strategy", strategy] for strategy in settings.strategies.split(",")}
            quickest = ["--strategy", "free-list"]
        else:
            ways = {"whole": [], "arena": ["--stream"], "rows": ["--stream", "--io", "rows"]}
            kinds = {way: ways[way] for way in settings.stream.split(",")}
            quickest = ["--strategy", "greedy-by-size", "--order", "keep"]
        reading = planned(settings.stowage, [path, *quickest, "--effort", "0"])[0]
        for kind, words in kinds.items():
            words = [*words, *settings.options.split()]
            cells = [cell(settings.stowage, path, words, effort, reading) for effort in efforts]
            print(f"|{name}|{kind}|" + "|".join(cells) + "|", flush=True)


if __name__ == "__main__":
    sys.exit(main())
