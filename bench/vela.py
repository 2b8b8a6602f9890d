#!/usr/bin/env python3
"""SRAM and flash traffic of one inference by Arm's Vela, and by stowage with weights: two Markdown tables.

    vela.py --stowage PROGRAM --vela PROGRAM [--data FOLDER] [--units 128,256] [--effort N] [NAME...]

Vela (PyPI: ethos-u-vela) compiles each model for an Ethos-U55 with these units, with the memory modes Shared_Sram and
Sram_Only of its own vela.ini and both goals of `--optimise`. Its figures are those of its summary:

    Shared_Sram   SRAM holds tensors, inputs and outputs as wholes, and weights' buffers; constants lie in flash, which is
                  read-only. SRAM, and all bytes that are read from flash: coded weights, biases with scales, tables.
    Sram_Only     constants lie in SRAM, too. The summary calls that on-chip flash; here it is SRAM. No other traffic.

stowage plans rows with `--io arena`, so inputs and outputs are wholes in SRAM as well, and `--align 16`:

    Shared_Sram   a memory SRAM of a size, a memory FLASH for weights, and moves, so that weights are staged in the SRAM.
                  Moves want a second memory that is written: it has 16 bytes, and a plan that uses it is refused.
                  SRAM is the peak, with staged weights; flash is all bytes that steps and copies read of weights.
    Sram_Only     the peak of rows alone, and all constants.

Vela codes weights and adds scales to biases, stowage counts weights and biases as the file has them. So bytes of ours
are given twice: "plain", and "coded": times what Vela's constants take in flash per byte of ours, for all of the model.
For each goal the first table has the smallest SRAM of some sizes, up to Vela's with `--optimise Size`, whose traffic is no
more than Vela's, plain and coded; "no" if there is none. "once" is every constant once, plain. Each plan that is shown is
verified against its model and run with `--check`.
"""

import argparse
import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile

NAMES = ("person_detect", "vww_96_int8", "kws_ref_model", "pretrainedResnet_quant", "mcunet_vww", "mobilenet_v2_int8_224")
SYSTEM = "Ethos_U55_High_End_Embedded"
STEPS = 12  # sizes between the peak of rows alone and Vela's SRAM


def run(command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)


class Vela:
    """One compilation: bytes of SRAM, of constants, and what is read from and written to other memories."""

    def __init__(self, options, file, folder, units, mode, goal):
        out = folder / f"{units}-{mode}-{goal}"
        done = run([options.vela, file, "--accelerator-config", f"ethos-u55-{units}", "--config", "Arm/vela.ini",
                    "--system-config", SYSTEM, "--memory-mode", mode, "--optimise", goal, "--output-dir", out])
        summaries = list(out.glob("*_summary_*.csv"))
        if done.returncode != 0 or not summaries:
            sys.exit(f"{options.vela} {file}: {done.stderr[-500:]}")
        with summaries[0].open() as lines:
            row = next(csv.DictReader(lines))
        self.on_cpu = int(re.search(r"CPU operators = (\d+)", done.stdout).group(1))
        used = {area: round(float(row[f"{area}_memory_used"]) * 1024)
                for area in ("sram", "dram", "on_chip_flash", "off_chip_flash")}
        self.constants = used["on_chip_flash"] if mode == "Sram_Only" else used["off_chip_flash"]
        self.sram = used["sram"] + used["on_chip_flash"]
        self.traffic = round(float(row["dram_total_bytes"]) + float(row["off_chip_flash_total_bytes"]))


class Ours:
    """Plans of a model by the size of the SRAM; each is made once."""

    def __init__(self, options, file, folder):
        self.options, self.file, self.folder = options, file, folder
        self.known = {}

    def command(self, sram):
        rows = ["plan", self.file, "--align", "16", "--stream", "--io", "arena", "--effort", self.options.effort, "--json",
                "-o", self.place(sram)]
        return rows if sram is None else [*rows, "--moves", "--memory", f"SRAM={sram}", "--memory", "DRAM=16@10", "--memory",
                                          "FLASH@10:weights"]

    def place(self, sram):
        return self.folder / f"{sram}.json"

    def plan(self, sram):
        """Its peak in SRAM and what it reads from flash, or None. Without a size: the peak of rows alone."""
        if sram not in self.known:
            done = run([self.options.stowage, *self.command(sram)])
            self.known[sram] = self.read(done) if done.returncode == 0 else None
            print(f"{self.file.stem} {sram}: {self.known[sram]}", file=sys.stderr, flush=True)
        return self.known[sram]

    @staticmethod
    def read(done):
        plan = json.loads(done.stdout)
        memories = {it["name"]: it for it in plan["memories"]}
        if "FLASH" not in memories:
            return plan["summary"]["peak"], 0
        if memories["DRAM"]["peak"]:
            return None
        return memories["SRAM"]["peak"], memories["FLASH"]["traffic"]

    def constants(self):
        """Bytes of all that is read from flash, each once."""
        done = run([self.options.stowage, "plan", self.file, "--memory", "SRAM", "--memory", "FLASH:weights", "--json",
                    "--effort", "100"])
        return json.loads(done.stdout)["savings"]["weights"]["separate"]

    def ladder(self, least, limit, wanted):
        """Sizes from the one above the least up to the limit, less 16: until all that is wanted is met, or cannot be."""
        sizes = [(least + (limit - least) * step // STEPS) // 16 * 16 for step in range(1, STEPS)] + [limit - 16]
        for at, size in enumerate(sizes):
            found = self.plan(size)
            if found is not None and found[1] <= wanted:
                return sizes[:at + 1]
        return sizes

    def smallest(self, sizes, limit, traffic):
        """The first of these sizes whose plan has less SRAM than the limit and reads no more than that."""
        plans = ((size, self.known[size]) for size in sizes)
        return next((size for size, it in plans if it is not None and it[0] < limit and it[1] <= traffic), None)

    def prove(self, sram):
        for command in (["verify", self.place(sram), "--model", self.file],
                        ["run", self.file, "--plan", self.place(sram), "--check"]):
            done = run([self.options.stowage, *command])
            if done.returncode != 0:
                sys.exit(f"{' '.join(map(str, command))}: {done.stdout[-500:]}{done.stderr[-500:]}")


def shared(ours, compiled, least):
    """Rows of the first table without the names: a row for each compilation."""
    constants = ours.constants()
    factors = [it.constants / constants for it in compiled]
    traffics = [(it.traffic, it.traffic / factor) for it, factor in zip(compiled, factors)]
    can_be = [it for pair in traffics for it in pair if it >= constants]
    sizes = ours.ladder(least, min(it.sram for it in compiled), min(can_be, default=constants))
    shown, rows = set(), []
    for vela, factor, pair in zip(compiled, factors, traffics):
        row = [str(vela.sram), str(vela.traffic)]
        for scale, traffic in zip((1.0, factor), pair):
            size = ours.smallest(sizes, vela.sram, traffic)
            shown.add(size)
            row += ["no", ""] if size is None else [str(ours.known[size][0]), str(round(ours.known[size][1] * scale))]
        rows.append([*row, str(constants), f"{factor:.3f}"])
    for size in shown - {None}:
        ours.prove(size)
    return rows


def table(title, head, rows):
    print(f"\n{title}\n\n|{'|'.join(head)}|\n|{'---|' * len(head)}")
    for row in rows:
        print(f"|{'|'.join(row)}|")


def main():
    parser = argparse.ArgumentParser(description="SRAM and flash traffic by Vela and by stowage.")
    parser.add_argument("--stowage", type=pathlib.Path, required=True)
    parser.add_argument("--vela", type=pathlib.Path, required=True, help="of the PyPI package ethos-u-vela")
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--units", type=lambda text: text.split(","), default=["128", "256"])
    parser.add_argument("--effort", default="2000", help="of each plan")
    parser.add_argument("names", nargs="*", default=NAMES)
    options = parser.parse_args()
    in_flash, in_sram = [], []
    for name in options.names:
        file = options.data / "models" / "tflite" / f"{name}.tflite"
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            ours = Ours(options, file, folder)
            constants, rows = ours.constants(), ours.plan(None)[0]
            ours.prove(None)
            cases = [(units, goal) for units in options.units for goal in ("Size", "Performance")]
            compiled = [Vela(options, file, folder, units, "Shared_Sram", goal) for units, goal in cases]
            title = f"{name}, {compiled[0].on_cpu} on the CPU" if compiled[0].on_cpu else name
            for (units, goal), cells in zip(cases, shared(ours, compiled, rows)):
                in_flash.append([title, units, goal, *cells])
                only = Vela(options, file, folder, units, "Sram_Only", goal)
                in_sram.append([title, units, goal, str(only.sram), str(rows + constants), str(rows + only.constants)])
    table("Shared_Sram", ("model", "units", "goal", "Vela SRAM", "flash", "SRAM, plain", "flash", "SRAM, coded", "flash",
                          "once", "coded / plain"), in_flash)
    table("Sram_Only", ("model", "units", "goal", "Vela SRAM", "SRAM, plain", "SRAM, coded"), in_sram)


if __name__ == "__main__":
    main()
