#!/usr/bin/env python3
"""Writes hard packing instances as lists with the columns id, lower, upper and size.

    bench/instances/make.py FOLDER [--public LISTS]

A buffer is alive from `lower` to before `upper`. LISTS is a folder with lists of others, for instance minimalloc's
benchmarks; of each, fourteen perturbed copies are written, too. See README.md for the kinds.
"""

import argparse
import pathlib

import kinds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--public", type=pathlib.Path, help="a folder with lists of others")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in kinds.MADE:
        kinds.write(arguments.folder / f"{name}.csv", kinds.made(name))
    for path in sorted(arguments.public.glob("*.csv")) if arguments.public else []:
        for name, buffers in kinds.copies(path.stem, kinds.read(path)):
            kinds.write(arguments.folder / f"{name}.csv", buffers)


if __name__ == "__main__":
    main()
