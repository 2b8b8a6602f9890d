#!/usr/bin/env python3
"""What ONNX Runtime or LiteRT computes: usage: reference.py MODEL FOLDER [spread]. Without arguments: their versions.

FOLDER/inputs.json maps names of inputs to names of files. Each folder FOLDER/set_* has these files (.npy) and gets
the outputs; FOLDER/outputs.json then maps names of outputs to names of files. ONNX Runtime runs without optimising,
LiteRT with its reference kernels, both in one thread; each set meets a new session, so with fresh state. `spread`
writes FOLDER/spread.json instead: how far each output of each set is from itself when the same program optimises, or
when real inputs are larger or smaller by a part in a million, eight times; if no input of an ONNX model is real, when
its constants are. A program of its own: what crashes or hangs ends only itself."""
import importlib.metadata
import json
import pathlib
import sys

NUDGES = 8  # of reals: one of them seldom moves a number over the edge where it rounds to another
PACKAGES = {".onnx": "onnxruntime", ".tflite": "ai-edge-litert"}


def versions():
    found = {}
    for suffix, package in PACKAGES.items():
        try:
            found[suffix] = f"{package} {importlib.metadata.version(package)}"
        except importlib.metadata.PackageNotFoundError:
            found[suffix] = None
    return found


def run_onnx(model, inputs, is_optimised=False):
    import onnxruntime
    levels = onnxruntime.GraphOptimizationLevel
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if is_optimised else levels.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    # Without it sums of int8 products are cut off at 16 bits on processors with AVX2 and without VNNI.
    options.add_session_config_entry("session.x64quantprecision", "1")
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(numbers_of(model, name, value) for name, value in zip(names, session.run(names, inputs)))


def numbers_of(model, name, value):
    """A sequence of maps, which ZipMap makes of a tensor, as that tensor; others as they are."""
    if not (isinstance(value, list) and value and isinstance(value[0], dict)):
        return name, value
    import numpy
    import onnx
    graph = (onnx.load_from_string(model) if isinstance(model, bytes) else onnx.load(model)).graph
    tensor = next(node.input[0] for node in graph.node if name in node.output)
    return tensor, numpy.array([list(numbers.values()) for numbers in value], numpy.float32)


def run_tflite(path, inputs, is_optimised=False):
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
    kernels = OpResolverType.BUILTIN if is_optimised else OpResolverType.BUILTIN_REF
    interpreter = Interpreter(path, num_threads=1, experimental_op_resolver_type=kernels)
    for it in interpreter.get_input_details():
        if list(it["shape"]) != list(inputs[it["name"]].shape):
            interpreter.resize_tensor_input(it["index"], inputs[it["name"]].shape)
    interpreter.allocate_tensors()
    for it in interpreter.get_input_details():
        interpreter.set_tensor(it["index"], inputs[it["name"]])
    interpreter.invoke()
    return {it["name"]: interpreter.get_tensor(it["index"]) for it in interpreter.get_output_details()}


def with_other_constants(path, seed):
    """The ONNX model with its real weights larger or smaller by a part in a million. A single number is no weight: it
    may be the 1 from which a mask is subtracted."""
    import numpy
    import onnx
    from onnx import numpy_helper
    random, model = numpy.random.default_rng(seed), onnx.load(path)

    def constants(graph):
        yield from graph.initializer
        for attribute in (attribute for node in graph.node for attribute in node.attribute):
            if attribute.type == onnx.AttributeProto.TENSOR:
                yield attribute.t
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from constants(attribute.g)

    for tensor in constants(model.graph):
        value = numpy_helper.to_array(tensor)
        if value.dtype == numpy.float32 and value.size > 1:
            nudged = value * (1 + random.choice([-1e-6, 1e-6], value.shape))
            tensor.CopyFrom(numpy_helper.from_array(nudged.astype(numpy.float32), tensor.name))
    return model.SerializeToString()


def with_other_reals(inputs, seed):
    import numpy
    random = numpy.random.default_rng(seed)
    return {name: (value * (1 + random.choice([-1e-6, 1e-6], value.shape))).astype(value.dtype)
            if value.dtype.kind == "f" else value for name, value in inputs.items()}


def spread_of(run, model, inputs):
    """Of each output: the largest of its differences from itself."""
    plain, others = run(model, inputs), []
    try:
        others.append(run(model, inputs, is_optimised=True))
    except Exception as error:  # of any type: onnxruntime cannot optimise each model that it runs
        print(f"not optimised: {error}", file=sys.stderr)
    if any(value.dtype.kind == "f" for value in inputs.values()):
        others += [run(model, with_other_reals(inputs, seed)) for seed in range(NUDGES)]
    elif run is run_onnx:
        others += [run(with_other_constants(model, seed), inputs) for seed in range(NUDGES)]
    return {name: max(float(abs(other[name].astype(float) - value.astype(float)).max(initial=0)) for other in others)
            for name, value in plain.items()}


def main(model, folder, what="outputs"):
    import numpy
    folder = pathlib.Path(folder)
    files = json.loads((folder / "inputs.json").read_text())
    run = run_onnx if model.endswith(".onnx") else run_tflite
    spread = {}
    for place in sorted(folder.glob("set_*")):
        inputs = {name: numpy.load(place / file) for name, file in files.items()}
        if what == "spread":
            spread[place.name] = spread_of(run, model, inputs)
            continue
        outputs = {name: numpy.asarray(value) for name, value in run(model, inputs).items()}
        named = {name: f"expected_{i}.npy" for i, name in enumerate(outputs)}
        for name, file in named.items():
            numpy.save(place / file, outputs[name], allow_pickle=False)
    (folder / f"{what}.json").write_text(json.dumps(spread if what == "spread" else named))


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print(json.dumps(versions()))
    else:
        main(*sys.argv[1:])
