"""Prints the planned part (head) of the arena that TensorFlow Lite Micro needs for each model.

    python3 -m venv venv && venv/bin/pip install tflite-micro
    venv/bin/python bench/tflm_heads.py MODEL.tflite...
"""

import re
import subprocess
import sys

ONE_MODEL = """
import sys
from tflite_micro import runtime
runtime.Interpreter.from_file(sys.argv[1]).print_allocations()
"""


def head_of(model):
    """Bytes, or the reason there are none; a process each, for a model TFLM refuses ends it."""
    run = subprocess.run([sys.executable, "-c", ONE_MODEL, model], capture_output=True, text=True)
    found = re.search(r"Arena allocation head (\d+) bytes", run.stdout + run.stderr)
    return found.group(1) if found else "not run: " + (run.stderr.strip().splitlines() or ["no output"])[-1]


for path in sys.argv[1:]:
    print(path, head_of(path))
