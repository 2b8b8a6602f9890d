#!/usr/bin/env python3
"""Offsets from a compiler in Python, by ctypes alone: three buffers, of which reuse of one by the other costs a wait.

usage: pack_ctypes.py [LIBRARY]
"""

import ctypes
import sys

library = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else "libstowage_pack_c.so.1")
number = ctypes.c_int64
problem = ctypes.c_void_p


def function(name, result, *arguments):
    it = getattr(library, "stowage_pack_" + name)
    it.restype = result
    it.argtypes = arguments
    return it


create = function("create", problem)
destroy = function("destroy", None, problem)
add_memory = function("add_memory", number, problem, number)
add_buffer = function("add_buffer", number, problem, number, number, number, number)
reuse_cost = function("reuse_cost", ctypes.c_int, problem, number, number, number)
solve = function("solve", ctypes.c_int, problem, number, ctypes.c_uint64)
offset = function("offset", number, problem, number)
cost = function("cost", number, problem)
error = function("error", ctypes.c_char_p, problem)

it = create()
add_memory(it, 64)
buffers = [add_buffer(it, 32, 32, 2 * b, 2 * b + 2) for b in range(3)]
reuse_cost(it, buffers[0], buffers[1], 5)
if solve(it, 100, 0) != 0:
    sys.exit(error(it).decode())
for b in buffers:
    print(f"buffer {b} at {offset(it, b)}")
print(f"cost {cost(it)}")
destroy(it)
