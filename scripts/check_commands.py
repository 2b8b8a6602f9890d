#!/usr/bin/env python3
"""Runs the commands that the documents show, so that none has an option or a file that is not there.

    scripts/check_commands.py build/release/stowage [DOCUMENT...]    default: all of docs/, and CONTRIBUTING.md

A command is a line of an indented block that begins with "stowage", with or without "$ ", and what continues it after a
backslash; three blanks begin a remark, brackets are options that may be given. Commands of a page run in its order, in a
folder of their own. Models that a page speaks of are those of STOWAGE_DATA_DIR (default: ../shared/data) where they are
there; others stand for the rest. So outputs are not compared, and each search gets a second. A command must end with 0, or
with 1 where its budget, capacity or growth is missed. Prints FILE:LINE: PROBLEM for each problem, and exits with 1 if there
is one.
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = pathlib.Path(os.environ.get("STOWAGE_DATA_DIR", ROOT.parent / "shared/data")) / "models"
SECONDS = 300  # for one command
SEARCHES = {"plan", "tflm", "compare", "diff", "fit", "sweep", "run", "generate"}
MAY_MISS = re.compile("--(budget|capacity|max-growth|memory)|^stowage fit|--fit")
SKIPPED = re.compile("build/oracle|^stowage COMMAND|--extern RESIZE_BILINEAR|--feed A|--join a|prefill.onnx|melspectrogram|llama_32")  # of models that no other stands for
ANSWERS = {"stowage plan minilm_l3.onnx": 3}  # with the sizes that it leaves open
LIST = "id,lower,upper,size\na,0,2,32\nb,1,3,64\nc,2,4,32\n"


def commands_of(document):
    lines = document.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        command = re.sub(r"^    (\$ )?", "", line)
        if not line.startswith("    ") or not re.match(r"stowage [a-z]+ ", command + " "):
            continue
        following = number
        while command.endswith("\\"):
            command = command[:-1] + lines[following].strip()
            following += 1
        yield number, re.sub(r"[][]", "", re.sub("   .*", "", command))


def field(number, content):
    """A field of a protocol buffer: a number, or bytes."""
    def varint(value):
        return bytes([value]) if value < 128 else bytes([value % 128 + 128]) + varint(value // 128)

    if isinstance(content, int):
        return varint(8 * number) + varint(content)
    content = content.encode() if isinstance(content, str) else content
    return varint(8 * number + 2) + varint(len(content)) + content


OPEN_SIZES = {"minilm_l3.onnx": ["batch_size", "sequence_length"], "keywords.onnx": ["n"], "stream_any_length.onnx": ["samples"],
              "encoder.onnx": ["seq"]}


def node(kind, inputs, output, attributes=b""):
    return field(1, b"".join(field(1, it) for it in inputs) + field(2, output) + field(4, kind) + attributes)


def values(number, name, sizes):
    """Inputs (11) or outputs (12) of float32, with 16 numbers for each of these sizes."""
    shape = [field(1, field(2, it)) for it in sizes] + [field(1, field(1, 16))]
    return field(number, field(1, name) + field(2, field(1, field(1, 1) + field(2, b"".join(shape)))))


def onnx_file(graph):
    return field(1, 8) + field(7, graph + field(2, "net")) + field(8, field(2, 17))


def open_model(names):
    """y = Relu(x) + Exp(Relu(x)), with sizes of these names."""
    nodes = node("Relu", ["x"], "a") + node("Exp", ["a"], "b") + node("Add", ["a", "b"], "y")
    return onnx_file(nodes + values(11, "x", names) + values(12, "y", names))


def decoder():
    """Four caches that grow, and y = Exp(x)."""
    axis = field(5, field(1, "axis") + field(3, 0) + field(20, 2))
    graph = node("Exp", ["x"], "y") + values(11, "x", ["seq"]) + values(12, "y", ["seq"])
    for name in ("k0", "v0", "k1", "v1"):
        graph += node("Concat", [f"past_{name}", "x"], name, axis)
        graph += values(11, f"past_{name}", ["past"]) + values(12, name, ["total"])
    return onnx_file(graph)


def put_files(folder, command):
    """What the command reads and the folder lacks."""
    for name in re.findall(r"(?:^|[\s=])((?:[\w-]+/)*[\w-]+\.(?:onnx|tflite|csv|json)|MODEL)(?=\s|$)", command):
        place = folder / name
        if place.exists():
            continue
        before = command[: command.find(name)].rstrip()
        if before.endswith(("-o", "--output")):
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        known = [DATA / kind / name for kind in ("tflite", "onnx")]
        found = next((it for it in known if it.exists()), None)
        if found:
            place.symlink_to(found)
        elif name in OPEN_SIZES:
            place.write_bytes(open_model(OPEN_SIZES[name]))
        elif name == "decode.onnx":
            place.write_bytes(decoder())
        elif name.endswith(".tflite"):
            whole = DATA / "tflite/hello_world_int8.tflite"
            shutil.copy(whole if whole.exists() else ROOT / "fuzz/corpus/tflite/two_operators.tflite", place)
        elif name.endswith(".csv"):
            place.write_text(LIST)
        elif name == "problem.json":
            shutil.copy(ROOT / "fuzz/corpus/problem/five.json", place)
        elif name.endswith(".json"):
            subprocess.run(["stowage", "plan", "-q", "examples/classifier.onnx", "-o", name], cwd=folder, check=True)
        else:
            shutil.copy(ROOT / "examples/classifier.onnx", place)


def problems_of(document):
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copytree(ROOT / "examples", folder / "examples")
        (folder / "docs").mkdir()
        for number, command in commands_of(document):
            verb = command.split()[1]
            if SKIPPED.search(command) or (".tflite" in command and verb in ("run", "generate") and not DATA.exists()):
                continue
            put_files(folder, command)
            expected = ANSWERS.get(command, 0)
            if verb in SEARCHES and not re.search("--(effort|time-limit|plan) ", command):
                command = command.replace(f"stowage {verb}", f"stowage {verb} --time-limit 1", 1)
            try:
                run = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=folder, timeout=SECONDS,
                                     env={**os.environ, "HOME": name}, capture_output=True, text=True, check=False)
                status = run.returncode
                said = (run.stderr.strip() or run.stdout.strip() or "no message").splitlines()[-1]
            except subprocess.TimeoutExpired:
                status, said = "no status", f"it takes more than {SECONDS} s"
            if status != expected and not (status == 1 and MAY_MISS.search(command)):
                found.append(f"{document.relative_to(ROOT)}:{number}: '{command}' ends with {status}: {said}")
    return found


def main():
    if len(sys.argv) < 2 or not pathlib.Path(sys.argv[1]).is_file():
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as programs:
        (pathlib.Path(programs) / "stowage").symlink_to(pathlib.Path(sys.argv[1]).resolve())
        os.environ["PATH"] = f"{programs}:{os.environ['PATH']}"
        documents = [pathlib.Path(it).resolve() for it in sys.argv[2:]]
        documents = documents or [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            problems = [line for lines in pool.map(problems_of, documents) for line in lines]
    count = sum(1 for document in documents for _ in commands_of(document))
    print(*problems, f"{count} commands, {len(problems)} problems", sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
