#!/usr/bin/env python3
"""How much memory `stowage run` takes: usage: run_memory.py STOWAGE FOLDER [--sample N] [--only NAME]... [--limit S]

FOLDER has the models (fetch.py). Each is planned whole and by rows, and runs in both plans, alone and with --check.
The most resident memory of the process, less what examples/classifier.onnx takes, which is the program itself with
its kernels, is set against the bytes of the plan (memories, inputs and outputs) and of the model's files.
Prints a table in Markdown, megabytes with seconds behind them, and the worst of each column.

Needs numpy. A model takes ten seconds on average, most of them for its plan by rows."""
import argparse
import json
import pathlib
import sys
import tempfile

import numpy

import corpus
import table

CLASSIFIER = pathlib.Path(__file__).parents[2] / "examples" / "classifier.onnx"
PLANS = {"whole": [], "rows": ["--stream"]}
CHECKS = {"": [], " --check": ["--check"]}
COLUMNS = [plan + check for plan in PLANS for check in CHECKS]


class Measure:
    def __init__(self, options):
        self.options = options
        self.stowage = pathlib.Path(options.stowage).resolve()
        self.own = self.runs(CLASSIFIER, [], corpus.Model("", "", [], [], "", [], {}))

    def runs(self, path, files, model):
        """Megabytes, seconds and needed megabytes of each run; nothing for one that fails."""
        found = {}
        with tempfile.TemporaryDirectory() as name:
            work = pathlib.Path(name)
            for plan, how in PLANS.items():
                file = work / f"{plan}.json"
                made = table.attempt([self.stowage, "plan", path, *model.options, "--effort", self.options.effort, *how,
                                      "-o", file], self.options.limit)
                if made.status != 0:
                    continue
                content = json.loads(file.read_text())
                given = self.given(content, model, work)
                need = sum(memory["peak"] for memory in content["memories"]) + sum(
                    tensor["bytes"] for kind in ("input", "output") for tensor in table.tensors_of(content, kind))
                need += sum(file.stat().st_size for file in files)
                for check, option in CHECKS.items():
                    done = table.attempt([self.stowage, "run", path, *model.options, "--plan", file, *given, *option],
                                         self.options.limit)
                    if done.status == 0:
                        found[plan + check] = done.megabytes, done.seconds, need / 1e6
        return found

    @staticmethod
    def given(plan, model, work):
        options = []
        for i, tensor in enumerate(table.tensors_of(plan, "input")):
            numpy.save(work / f"{i}.npy", table.value_of(tensor, model, 0))
            options += ["--input", f"{tensor['name']}={work / f'{i}.npy'}"]
        return options

    def row(self, model):
        """Cells, and how many times the need each run takes."""
        paths = [path for path in model.paths(self.options.folder) if path.is_file()]
        cells, factors = [model.name], {}
        found = self.runs(paths[0].resolve(), paths, model)
        for column in COLUMNS:
            if column not in found:
                cells.append("")
                continue
            megabytes, seconds, need = found[column]
            own = max(0.0, megabytes - self.own[column][0])
            factors[column] = own / need
            cells.append(f"{own:.1f} of {need:.1f}, {own / need:.2f}, {seconds:.1f} s")
        return cells, factors


def main():
    parser = argparse.ArgumentParser(description="How much memory `stowage run` takes, in Markdown.")
    parser.add_argument("stowage")
    parser.add_argument("folder", type=pathlib.Path, help="where fetch.py has put the models")
    parser.add_argument("--limit", type=float, default=120, help="seconds for each step, 120 without it")
    parser.add_argument("--effort", type=int, default=3000, help="of planning, 3000 without it: about 3 s")
    corpus.add_choice(parser)
    options = parser.parse_args()
    measure, worst = Measure(options), {}
    print(f"| model | {' | '.join(COLUMNS)} |\n|---|{'---|' * len(COLUMNS)}")
    for model in corpus.chosen(options):
        cells, factors = measure.row(model)
        print(f"| {' | '.join(cells)} |", flush=True)
        for column, factor in factors.items():
            worst[column] = max(worst.get(column, (0.0, "")), (factor, model.name))
    print(f"| most | {' | '.join('{1}, {0:.2f}'.format(*worst.get(column, (0.0, ''))) for column in COLUMNS)} |")


if __name__ == "__main__":
    sys.exit(main())
