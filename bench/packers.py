"""The packers that bench/packing.py compares: stowage, as a program and as a library, and omnimalloc."""

import json
import os
import pathlib
import subprocess
import tempfile
import time
from dataclasses import dataclass

LATE = 60  # seconds after its limit until a program is ended

PEER = """
import csv, sys, time
import omnimalloc
rows = list(csv.DictReader(open(sys.argv[1])))
buffers = [omnimalloc.Allocation(r["id"], int(r["size"]), int(r["lower"]), int(r["upper"])) for r in rows]
if sys.argv[2] == "supermalloc":
    allocator = omnimalloc.allocators.SupermallocAllocator(timeout=float(sys.argv[3]), num_threads=12)
else:
    allocator = omnimalloc.allocators.OmniAllocator()
begin = time.perf_counter()
placed = omnimalloc.allocate(buffers, allocator)
seconds = time.perf_counter() - begin
print(max(b.offset + b.size for b in placed), seconds)
"""


@dataclass
class Found:
    peak: int
    bound: int
    seconds: float
    strategy: str = ""

    @property
    def gap(self):
        return 100 * (self.peak / self.bound - 1)

    @property
    def is_proven(self):
        return self.peak == self.bound


@dataclass
class Whole:
    """A whole command: from its start to the written plan."""
    seconds: float
    megabytes: float
    planning: float
    found: Found


class Packers:
    def __init__(self, stowage, peer):
        self.stowage = pathlib.Path(stowage).resolve()
        self.peer_python = peer
        self.has_peer = subprocess.run([peer, "-c", "import omnimalloc"], capture_output=True).returncode == 0

    def plan(self, path, limit, *options):
        """The plan of a list or a model as JSON."""
        command = [self.stowage, "plan", path, "--time-limit", str(limit), "--threads", "2", "--json", *options]
        done = subprocess.run(command, capture_output=True, check=True, text=True, timeout=6 * limit + LATE)
        return json.loads(done.stdout)

    def ours(self, path, limit, *options):
        summary = self.plan(path, limit, *options)["summary"]
        return Found(summary["peak"], summary["lower_bound"], summary["seconds"], summary["strategy"])

    def theirs(self, path, limit, bound, allocator="supermalloc"):
        """None: not installed, failed, or still running long after the limit; then it is ended."""
        if not self.has_peer:
            return None
        command = [self.peer_python, "-c", PEER, str(path), allocator, str(limit)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=6 * limit + 30)
        except subprocess.TimeoutExpired:
            return None
        if done.returncode != 0:
            return None
        peak, seconds = done.stdout.split()
        return Found(int(peak), bound, float(seconds))

    def whole(self, path, limit):
        """The command with the plan as a file: wall time, the most memory, and what it says of planning."""
        with tempfile.TemporaryDirectory() as folder:
            plan = pathlib.Path(folder) / "plan.json"
            command = [self.stowage, "plan", path, "--time-limit", str(limit), "--threads", "2", "-o", plan]
            begin = time.perf_counter()
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
                output = process.stdout.read()
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            seconds = time.perf_counter() - begin
            if process.returncode != 0:
                raise subprocess.CalledProcessError(process.returncode, command)
            lines = {line.split()[0]: line.split()[1:] for line in output.splitlines() if line.strip()}
            bound = int(lines["lower"][1])
            found = Found(int(lines["peak"][0]), bound, float(lines["seconds"][0]), lines["strategy"][0].rstrip(","))
            return Whole(seconds, usage.ru_maxrss / 1024, found.seconds, found)


def in_library(program, path, *options):
    """What pack_lists finds for a list."""
    output = subprocess.run([program, *options, path], capture_output=True, check=True, text=True).stdout
    _, _, peak, bound, seconds = output.split()
    return Found(int(peak), int(bound), float(seconds))
