"""Usage: onnxruntime_cases.py OUT_DIR [LIGHT_MODELS_DIR] [NAME...]

Writes cases, each a network, inputs, and what ONNX Runtime computes of them: one folder ort_* each.
With names, only those whose name holds one of them.
"""

import os
import sys
from functools import partial

import onnxruntime_cases_control as control
import onnxruntime_cases_light as light
import onnxruntime_cases_numbers as numbers
import onnxruntime_cases_transformer as transformer
import onnxruntime_cases_vision as vision
from onnxruntime_cases_net import write_net

MODULES = (transformer, vision, control, numbers)


def cases(out, models):
    for module in MODULES:
        for net in module.nets():
            yield net.name, partial(write_net, out, net)
    yield from light.write_light(out, models)


def main(out, models, wanted):
    os.makedirs(out, exist_ok=True)
    count = 0
    for name, write in cases(out, models):
        if not wanted or any(word in name for word in wanted):
            write()
            count += 1
    print(f"{count} cases of ONNX Runtime in {out}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    here = os.path.dirname(os.path.abspath(__file__))
    shared = os.path.join(here, "..", "..", "..", "shared", "data", "models", "onnx")
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else shared, sys.argv[3:])
