"""Lets ONNX Runtime optimise networks, and the planner read what it makes of them.

    onnxruntime_optimized.py STOWAGE OUT MODEL...

Optimised networks have operators of onnxruntime's own, and say the shapes of all values. Each is planned as it is: then
shapes that disagree are an error. It is planned again without what it says.
"""
import collections
import pathlib
import subprocess
import sys

import onnx
import onnxruntime

OPTIONS = ("--order", "keep", "--strategy", "first-fit-by-start", "-o", "/dev/null")


def optimise(model, out):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(out)
    options.log_severity_level = 4
    onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def is_planned(stowage, model):
    done = subprocess.run([stowage, "plan", str(model), *OPTIONS], capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{model}: {done.stderr.strip()}")
    return done.returncode == 0


def main():
    stowage, out, *models = sys.argv[1:]
    pathlib.Path(out).mkdir(parents=True, exist_ok=True)
    own = collections.Counter()
    agreed = inferred = 0
    for model in models:
        optimised = pathlib.Path(out) / pathlib.Path(model).name
        optimise(model, optimised)
        agreed += is_planned(stowage, optimised)
        network = onnx.load(optimised)
        own.update(f"{node.domain}.{node.op_type}" for node in network.graph.node if node.domain)
        del network.graph.value_info[:]
        onnx.save(network, optimised)
        inferred += is_planned(stowage, optimised)
        optimised.unlink()
    print(f"{len(models)} networks: shapes agree in {agreed}, all are inferred in {inferred}")
    print(", ".join(f"{count} {name}" for name, count in own.most_common()))


main()
