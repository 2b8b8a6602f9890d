#!/usr/bin/env python3
"""usage: pack_arrays.py PROGRAM [COUNT]   seconds to pack COUNT buffers from NumPy, and by PROGRAM, bench/pack_arrays.cc

Both pack the same buffers with `free-list`; medians of five, and the range. The C++ program makes its problem anew for
each, as the module does from arrays.
"""

import statistics
import subprocess
import sys
import time

import numpy as np
import stowage


def main():
    program, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    i = np.arange(count, dtype=np.int64)
    lower = i * 7919 % 100_000
    upper = lower + 1 + i * 104_729 % 20
    size = 1 + i * 15_485_863 % 65_536
    subprocess.run([program, str(count)], check=True)
    seconds = []
    for _ in range(5):
        begin = time.perf_counter()
        offsets = stowage.pack(lower, upper, size, strategy="free-list", time_limit=60)
        seconds.append(time.perf_counter() - begin)
    print(f"NumPy   {statistics.median(seconds):.3f} s ({min(seconds):.3f} to {max(seconds):.3f}), peak {offsets.peak}")


if __name__ == "__main__":
    main()
