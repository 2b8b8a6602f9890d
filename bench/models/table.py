#!/usr/bin/env python3
"""What stowage does with the models of models.csv: usage: table.py STOWAGE FOLDER [-o FILE] [--sample N] [--jobs N]

FOLDER has the models (fetch.py). For each of them, in a process of its own and with a time limit for each step:
plans it whole and by rows, verifies both plans, runs it in its plan on three inputs and compares the outputs with
ONNX Runtime or LiteRT, writes C for one of these inputs, compiles that under address and undefined-behaviour
sanitizers, and runs its test, which wants the bits of our run. Writes in Markdown: a row for each model, shares, why
steps failed, and which causes would gain how many models.

Outputs are equal if no number differs by more than 1e-5 of the largest of its tensor (float16: 1e-2) or 1e-6, and
integers not at all. They are near if they are no further away than twice what the other program differs from itself
when it optimises, or when inputs change by a part in a million, eight times (constants, if all inputs are integers):
networks that round inside, such as quantized ones, make much of a last bit. Inputs are random: real numbers from -1 to 1, numbers of
8 bits any, longer ones 1 to 9, or as models.csv says.

Plans have a limit in work (--effort), so each machine finds the same ones. With --jobs N, N models are done at a
time, and seconds are longer. With --keep PAGE the rows of models that are not asked for are those of an earlier
page, which then says how many are new.

Needs numpy, and for comparisons onnx, onnxruntime and ai-edge-litert (--python names a Python that has them), and a C
compiler and make. A model takes five seconds on average, most of them for its plan by rows."""
import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy

import corpus

REFERENCE = pathlib.Path(__file__).with_name("reference.py")
SETS = 3  # inputs of each model
SANITIZED = "-O1 -fsanitize=address,undefined -fno-sanitize-recover=all"
COLUMNS = ["model", "peak", "by rows", "verified", "runs", "equal", "C", "C equal", "s", "MB", "s by rows",
           "MB by rows"]
SHARES = {"verified": "planned, and the plans verified", "runs": "run in their plan",
          "equal": "equal or near to ONNX Runtime or LiteRT", "lower": "lower by rows", "C": "become C",
          "C equal": "become C whose outputs are equal"}


# Starts a program and writes its seconds and its most megabytes: a process of its own, since the system counts the
# memory of who starts a program, too. This one has 9 MB, so no program seems to need less.
MEASURE = """
import os, sys, time
begin = time.monotonic()
_, status, usage = os.wait4(os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ), 0)
with open(sys.argv[1], "w") as taken:
    taken.write(f"{time.monotonic() - begin} {usage.ru_maxrss / 1000}")
code = os.waitstatus_to_exitcode(status)
sys.exit(code if code >= 0 else 128 - code)
"""
SAYS_WHY = re.compile(r"^stowage: (?!note:)|error:|of \d+ cases as expected")


@dataclass
class Done:
    """What a process said and took."""
    status: int
    output: str
    seconds: float
    megabytes: float


@dataclass
class Row:
    name: str
    cells: dict = field(default_factory=dict)
    reasons: list = field(default_factory=list)  # (step, first line, causes)

    def fail(self, step, done_or_text):
        text = done_or_text if isinstance(done_or_text, str) else done_or_text.output
        self.cells[step] = "no"
        self.reasons.append((step, first_line(text), causes_of(text)))


def rows_of(page):
    """The rows of an earlier page by name. Of reasons, it has the first line."""
    rows = {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and len(cells) == len(COLUMNS) and cells != COLUMNS:
            row = rows[cells[0]] = Row(cells[0], {name: cell for name, cell in zip(COLUMNS[1:], cells[1:]) if cell})
            if row.cells.get("by rows", "no") != "no":
                row.cells["lower"] = "yes" if int(row.cells["by rows"]) < int(row.cells["peak"]) else "no"
        if reason := re.fullmatch(r"- (\w+), ([^:]+): (.*)", line):
            rows[reason[1]].reasons.append((reason[2], reason[3], causes_of(reason[3])))
    return rows


def attempt(command, limit, folder=None):
    """Runs a program and all that it starts, until the limit."""
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryFile("w+", errors="replace") as output:
        taken = pathlib.Path(name) / "taken"
        process = subprocess.Popen([sys.executable, "-I", "-S", "-c", MEASURE, taken, *map(str, command)],
                                   stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, cwd=folder,
                                   start_new_session=True)
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return Done(1, f"takes more than {limit:g} s", limit, 0)
        output.seek(0)
        text = output.read()
        if not taken.exists():
            return Done(1, f"{command[0]} cannot be started", 0, 0)
        seconds, megabytes = map(float, taken.read_text().split())
    if status > 128:
        text += f"\nends by signal {status - 128}"
    return Done(status, text, seconds, megabytes)


def first_line(text):
    """Of what a program says the line that says why: without the program's name and the file's, and short."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["says nothing"]
    at = next((i for i, line in enumerate(lines) if SAYS_WHY.search(line)), len(lines) - 1)
    line = re.sub(r"^stowage: (\S+\.(onnx|tflite|json): )?", "", lines[at])
    if line.endswith(":") and at + 1 < len(lines):
        line += " " + lines[at + 1]
    line = re.split("; give (it|them) with", line)[0].replace("|", "/").replace("`", "'")
    return line if len(line) <= 200 else line[:197] + "..."


def without_names(text):
    return re.sub(r"(?<![a-z\d])\d+|(?<=\dx)\d+", "N", re.sub(r"'[^']*'", "'..'", text)).strip()


LISTED = re.compile(r"\s*operator (?:'.*' \((\S+), \d+ of subgraph \d+\)|\d+ of subgraph \d+ \((\S+)\)): (.*)")
UNKNOWN = re.compile(r"a result of operator .*?\(([\w.]+)(?:, \d+ of subgraph \d+)?\),? "
                     r"(has no known|has the symbolic|is of type) (\w+)")


def causes_of(text):
    """The kinds of fault that a refusal lists: types of operators and reasons, without names and numbers."""
    found = set()
    for match in filter(None, map(LISTED.match, text.splitlines())):
        kind, reason = match[1] or match[2], match[3]
        has_kernel = not reason.endswith(f"kernel for {kind}")
        found.add(f"{kind}: {without_names(reason)}" if has_kernel else f"there is no kernel for {kind}")
    if found:
        return found
    match = UNKNOWN.search(text)
    return {f"{match[1]}: a result {match[2]} {match[3]}" if match else without_names(first_line(text))}


def tensors_of(plan, kind):
    return [tensor for tensor in plan["tensors"] if tensor["kind"] == kind]


def value_of(tensor, model, seed):
    """A random value of an input."""
    random = numpy.random.default_rng([seed, zlib.crc32(tensor["name"].encode())])
    dtype, shape = numpy.dtype(tensor["dtype"]), tensor["shape"]
    default = (0, 1) if dtype == bool else (-1, 1)
    if dtype.kind in "iu":
        default = (1, 9) if dtype.itemsize > 1 else (numpy.iinfo(dtype).min, numpy.iinfo(dtype).max)
    low, high = model.inputs.get(tensor["name"], default)
    value = random.uniform(low, high, shape) if dtype.kind == "f" else random.integers(low, high, shape, endpoint=True)
    return numpy.asarray(value, dtype)


def difference(ours, theirs):
    """Why two outputs are not equal, or nothing; and how far they are apart, if that says it."""
    if ours.shape != theirs.shape:
        return f"has the shape {list(ours.shape)}, expected {list(theirs.shape)}", None
    if ours.dtype != theirs.dtype:
        return f"is {ours.dtype}, expected {theirs.dtype}", None
    finite = numpy.isfinite(theirs) if theirs.dtype.kind == "f" else numpy.ones(theirs.shape, bool)
    if not numpy.array_equal(numpy.isfinite(ours), finite):
        return "is not finite where it should be, or the other way round", None
    largest = numpy.abs(theirs[finite].astype(float)).max(initial=0)
    apart = numpy.abs(ours[finite].astype(float) - theirs[finite].astype(float)).max(initial=0)
    if theirs.dtype.kind == "f":
        allowed = max((1e-2 if theirs.dtype == numpy.float16 else 1e-5) * largest, 1e-6)
        why = f"differs by {apart:.2g}, its largest number is {largest:.2g}"
    else:
        allowed = 0
        why = f"has integers that differ by {apart:g}"
    return (None, apart) if apart <= allowed else (why, apart)


class Table:
    def __init__(self, options):
        self.options = options
        self.stowage = pathlib.Path(options.stowage).resolve()
        self.effort = ["--effort", options.effort]
        said = attempt([options.python, REFERENCE], options.limit).output
        self.references = json.loads(said) if said.startswith("{") else {".onnx": None, ".tflite": None}

    def plan(self, model, path, file, *more):
        """A plan and how it was made; nothing if there is none. It is verified, too."""
        done = attempt([self.stowage, "plan", path, *model.options, *self.effort, *more, "-o", file],
                       self.options.limit)
        if done.status != 0:
            return None, done
        checked = attempt([self.stowage, "verify", file, "--model", path, *model.options], self.options.limit)
        done.status, done.output = checked.status, checked.output
        return json.loads(file.read_text()), done

    def row(self, model):
        row, path = Row(model.name), model.path(self.options.folder).resolve()
        with tempfile.TemporaryDirectory() as name:
            work = pathlib.Path(name)
            plan, done = self.plan(model, path, work / "plan.json")
            if plan is None:
                row.fail("peak", done)
                return row
            row.cells.update({"verified": "yes", "peak": plan["summary"]["peak"], "s": f"{done.seconds:.3f}",
                              "MB": f"{done.megabytes:.0f}"})
            if done.status != 0:
                row.fail("verified", done)
            self.by_rows(row, model, path, work)
            inputs = self.save_inputs(model, work, plan)
            self.runs(row, model, path, work, plan, inputs)
            self.generates(row, model, path, work, inputs)
        return row

    def by_rows(self, row, model, path, work):
        plan, done = self.plan(model, path, work / "rows.json", "--stream")
        if plan is None:
            row.fail("by rows", done)
            return
        row.cells.update({"by rows": plan["summary"]["peak"], "s by rows": f"{done.seconds:.3f}",
                          "MB by rows": f"{done.megabytes:.0f}"})
        row.cells["lower"] = "yes" if plan["summary"]["peak"] < row.cells["peak"] else "no"
        if done.status != 0:
            row.fail("verified", done)

    @staticmethod
    def save_inputs(model, work, plan):
        """Random inputs, a folder for each set; the names of their files by those of the inputs."""
        inputs = {tensor["name"]: f"input_{i}.npy" for i, tensor in enumerate(tensors_of(plan, "input"))}
        (work / "inputs.json").write_text(json.dumps(inputs))
        for seed in range(SETS):
            place = work / f"set_{seed}"
            place.mkdir()
            for tensor in tensors_of(plan, "input"):
                numpy.save(place / inputs[tensor["name"]], value_of(tensor, model, seed))
        return inputs

    def runs(self, row, model, path, work, plan, inputs):
        outputs = {tensor["name"]: f"output_{i}.npy" for i, tensor in enumerate(tensors_of(plan, "output"))}
        row.cells["runs"] = "yes"
        for seed in range(SETS):
            place = work / f"set_{seed}"
            command = [self.stowage, "run", path, *model.options, "--plan", work / "plan.json"]
            for option, files in (("--input", inputs), ("--save", outputs)):
                for name, file in files.items():
                    command += [option, f"{name}={place / file}"]
            done = attempt(command, self.options.limit)
            if done.status != 0:
                row.fail("runs", done)
                return
        self.compares(row, path, work, outputs)

    def compares(self, row, path, work, outputs):
        if not self.references[path.suffix]:
            row.cells["equal"] = "reference cannot be had"
            return
        done = attempt([self.options.python, REFERENCE, path, work], self.options.limit)
        if done.status != 0:
            row.fail("equal", "the reference fails: " + first_line(done.output))
            row.cells["equal"] = "not compared"
            return
        row.cells["equal"] = "yes"
        theirs, spread = json.loads((work / "outputs.json").read_text()), None
        for seed in range(SETS):
            place = work / f"set_{seed}"
            for name, file in outputs.items():
                if name not in theirs:
                    row.fail("equal", f"output '{name}' is no output of the reference")
                    return
                ours, other = numpy.load(place / file), numpy.load(place / theirs[name])
                why, apart = difference(ours, other)
                if why and apart is not None:
                    spread = self.spread(path, work) if spread is None else spread
                    if apart <= 2 * spread.get(place.name, {}).get(name, 0):
                        row.cells["equal"], why = "near", None
                if why:
                    row.fail("equal", f"output '{name}' {why}")
                    return

    def spread(self, path, work):
        """How far the reference is from itself, by set and output."""
        done = attempt([self.options.python, REFERENCE, path, work, "spread"], self.options.limit)
        return json.loads((work / "spread.json").read_text()) if done.status == 0 else {}

    def generates(self, row, model, path, work, inputs):
        package = work / "package"
        command = [self.stowage, "generate", "--no-test", path, *model.options, "-o", package, "--name", "network"]
        for name, file in inputs.items():
            command += ["--input", f"{name}={work / 'set_0' / file}"]
        done = attempt([*command, "--plan", work / "plan.json"], self.options.limit)
        if done.status != 0 and "no scratch memory" in done.output:  # which only a plan for C has
            done = attempt([*command, *self.effort], self.options.limit)
        if done.status != 0:
            row.fail("C", done)
            return
        row.cells["C"] = "yes"
        # GCC reads 4 MB of constants in a second, on a busy machine 1 MB: models have up to 360.
        constants = (package / "network_weights.c").stat().st_size / 1e6
        done = attempt(["make", "test", f"CFLAGS={SANITIZED}"], self.options.limit + constants, package)
        if done.status == 0 and "cases as expected" in done.output:
            row.cells["C equal"] = "yes"
        else:
            row.fail("C equal", done)


def shares(rows):
    yield "| share | models |\n|---|---|"
    for step, what in SHARES.items():
        count = sum(row.cells.get(step) in ("yes", "near") for row in rows)
        yield f"| {what} | {count} of {len(rows)}, {100 * count / len(rows):.0f} % |"


def causes(rows):
    """How many models each cause concerns, and how many of them have no other in that step."""
    concerned, alone = defaultdict(set), defaultdict(set)
    for row in rows:
        for step, _, found in row.reasons:
            for cause in found:
                concerned[step, cause].add(row.name)
                if len(found) == 1:
                    alone[step, cause].add(row.name)
    yield "| step | cause | models | nothing else |\n|---|---|---|---|"
    order = sorted(concerned, key=lambda it: (COLUMNS.index(it[0]), -len(alone[it]), -len(concerned[it]), it))
    shown = [it for it in order if alone[it] or len(concerned[it]) > 1]
    for step, cause in shown:
        key = step, cause
        yield f"| {step} | {cause.replace('|', '/')} | {len(concerned[key])} | {len(alone[key])} |"
    yield f"\n{len(order) - len(shown)} causes that concern one model, which has others, too, are left out."


def page(rows, measured, table, seconds):
    known = [version for version in table.references.values() if version]
    yield "# What stowage does with models that people ship\n"
    kept = [row for row in rows if row.name not in measured]
    new = f"; {', '.join(sorted(measured))} alone are new, the others as they were before" if kept else ""
    yield f"{len(measured)} of {len(rows)} models in {seconds:.0f} s; references: {', '.join(known) or 'none'}{new}.\n"
    yield "| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|"
    for row in rows:
        yield f"| {row.name} | " + " | ".join(str(row.cells.get(column, "")) for column in COLUMNS[1:]) + " |"
    yield "\n## Shares\n"
    yield from shares(rows)
    yield "\n## What would gain how many\n"
    yield from causes(rows)
    yield "\n## Why not\n"
    for row in rows:
        for step, reason, _ in row.reasons:
            yield f"- {row.name}, {step}: {reason}"


def main():
    parser = argparse.ArgumentParser(description="What stowage does with the models of models.csv, in Markdown.")
    parser.add_argument("stowage")
    parser.add_argument("folder", type=pathlib.Path, help="where fetch.py has put the models")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="the page; else it is printed")
    parser.add_argument("--limit", type=float, default=60, help="seconds for each step, 60 without it")
    parser.add_argument("--effort", type=int, default=3000, help="of planning, 3000 without it: about 3 s")
    parser.add_argument("--python", default=sys.executable, help="one with numpy, onnx, onnxruntime, ai-edge-litert")
    parser.add_argument("--jobs", type=int, default=1, help="models at a time, 1 without it")
    parser.add_argument("--keep", type=pathlib.Path, metavar="PAGE", help="an earlier page, of whose rows others stay")
    corpus.add_choice(parser)
    options = parser.parse_args()
    models = corpus.chosen(options)
    if not pathlib.Path(options.stowage).is_file():
        parser.error(f"there is no file {options.stowage}")
    if missing := [model.name for model in models if not model.path(options.folder).is_file()]:
        parser.error(f"{options.folder} lacks {len(missing)} models, such as {missing[0]}; fetch.py brings them")
    begin = time.monotonic()
    table, rows = Table(options), []
    with ThreadPoolExecutor(options.jobs) as workers:  # they wait for programs
        for row in workers.map(table.row, models):
            rows.append(row)
            print(row.name, {name: row.cells.get(name, "") for name in COLUMNS[1:]}, file=sys.stderr, flush=True)
    seconds = time.monotonic() - begin
    measured = {row.name: row for row in rows}
    if options.keep:
        known = rows_of(options.keep.read_text(encoding="utf-8")) | measured
        rows = [known[model.name] for model in corpus.models() if model.name in known]
    text = "\n".join(page(rows, measured, table, seconds)) + "\n"
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
