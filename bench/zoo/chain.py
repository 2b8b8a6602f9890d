"""usage: chain.py FILE [COUNT]   writes an ONNX model that is a chain of COUNT operators (100000)

Each adds a constant to what the one before made, or takes its positive part. Needs package onnx.
"""

import sys

import onnx
from onnx import TensorProto, helper


def main():
    file, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    nodes = []
    for i in range(count):
        kind, operands = ("Add", [f"t{i}", "one"]) if i % 2 else ("Relu", [f"t{i}"])
        nodes.append(helper.make_node(kind, operands, [f"t{i + 1}"], name=f"node{i}"))
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 16, 8, 8])
             for name in ("t0", f"t{count}")]
    one = helper.make_tensor("one", TensorProto.FLOAT, [1], [1.0])
    graph = helper.make_graph(nodes, "chain", value[:1], value[1:], [one])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), file)


if __name__ == "__main__":
    sys.exit(main())
