"""usage: exports.py STOWAGE FOLDER   plans and runs what bench/zoo/exports.py wrote, and compares with onnxruntime

Every model is planned; every model that has kernels for all operators runs inside its plan, with each tensor checked,
and its outputs must be those of onnxruntime within 1e-4. Fails if a model is not read or differs.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnxruntime

SIZES = {"tokens": 3, "earlier": 16, "batch": 2, "length": 12}
TYPES = {"tensor(float)": numpy.float32, "tensor(int64)": numpy.int64}
MOST = 1e-4


def stowage(program, command, model, *options):
    sizes = [f"--dim={name}={size}" for name, size in SIZES.items() if "dynamic" in model.name and
             (name in ("batch", "length")) == model.name.startswith("bert")]
    return subprocess.run([program, command, str(model), "--time-limit", "2", *sizes, *options], capture_output=True,
                          text=True)


def inputs_of(session):
    random = numpy.random.default_rng(1)
    for it in session.get_inputs():
        shape = [SIZES[size] if isinstance(size, str) else size for size in it.shape]
        real = TYPES[it.type] == numpy.float32
        yield it.name, (random.standard_normal(shape) if real else random.integers(1, 15, shape)).astype(TYPES[it.type])


def difference(program, model, folder):
    """The largest difference of an output from that of onnxruntime; none if there are no kernels."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    feeds = dict(inputs_of(session))
    arguments, files = ["--check=all"], []
    for number, (name, value) in enumerate(feeds.items()):
        numpy.save(folder / f"in{number}.npy", value)
        arguments += ["--input", f"{name}={folder / f'in{number}.npy'}"]
    for number, output in enumerate(session.get_outputs()):
        files.append(folder / f"out{number}.npy")
        arguments += ["--save", f"{output.name}={files[-1]}"]
    result = stowage(program, "run", model, *arguments)
    if "there is no kernel for" in result.stderr:
        return None
    if result.returncode != 0:
        sys.exit(f"{model}: {result.stderr}{result.stdout}")
    return max(float(numpy.abs(numpy.load(file) - wanted).max())
               for file, wanted in zip(files, session.run(None, feeds)))


def main():
    program, models = sys.argv[1], sorted(pathlib.Path(sys.argv[2]).glob("*.onnx"))
    failed = 0
    for model in models:
        planned = stowage(program, "plan", model)
        if planned.returncode != 0:
            sys.exit(f"{model}: {planned.stderr}")
        lines = dict(line.split(maxsplit=1) for line in planned.stdout.splitlines() if line.startswith(("naive", "peak", "gap")))
        with tempfile.TemporaryDirectory() as folder:
            most = difference(program, model, pathlib.Path(folder))
        failed += most is not None and not most <= MOST
        print(f"{model.stem}: naive {lines['naive'].split()[0]}, peak {lines['peak'].split()[0]}, gap {lines['gap']};",
              "no kernel for all operators" if most is None else f"outputs differ by at most {most:.1e}", flush=True)
    return 1 if failed or not models else 0


if __name__ == "__main__":
    sys.exit(main())
