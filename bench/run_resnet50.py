"""Prints what a network takes with one thread: inside its plan here, and with ONNX Runtime.

    PYTHON bench/run_resnet50.py build/bench/bench/run_bench MODEL.onnx

PYTHON needs numpy and onnxruntime. Both run in turns, so that a machine's moods meet both; each figure is the
median of all runs. Neither counts reading, preparing or planning.
"""

import os
import statistics
import subprocess
import sys
import time

import numpy
import onnxruntime

TURNS = 3
RUNS = 7


def seconds_here(program, model):
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    command = [program, model, str(RUNS)]
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return [float(line) for line in run.stdout.split()]


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def seconds_of_session(session):
    random = numpy.random.default_rng(1)
    feed = {value.name: random.random(value.shape, numpy.float32) for value in session.get_inputs()}
    session.run(None, feed)
    seconds = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        session.run(None, feed)
        seconds.append(time.perf_counter() - begin)
    return seconds


def main(program, model):
    session = session_of(model)
    ours, theirs = [], []
    for _ in range(TURNS):
        ours += seconds_here(program, model)
        theirs += seconds_of_session(session)
    own, other = statistics.median(ours), statistics.median(theirs)
    print(f"stowage {1e3 * own:.1f} ms, onnxruntime {1e3 * other:.1f} ms, ratio {own / other:.2f}")


main(*sys.argv[1:])
