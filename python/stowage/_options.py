"""Options of the command as keywords, and models from paths, bytes and ONNX objects."""

from __future__ import annotations

import difflib
import os
import pathlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

from stowage import _core
from stowage._errors import UsageError

if TYPE_CHECKING:
    from typing import TypedDict

    # Exactly or at most 64; "..64", "64..64"; (1, 64). In `dim` also a list: a plan for each size.
    Size = Union[int, str, tuple[int, int], list[int]]

    class Options(TypedDict, total=False):
        """Planning options; docs/cli.md explains each. Sizes are numbers of bytes or texts such as "64KiB"."""

        strategy: str
        order: str
        alias: str
        align: int
        alignment: int  # the same
        io: str
        time_limit: float
        effort: int
        threads: int
        seed: int
        capacity: int | str
        device: str | os.PathLike[str]  # a name or a file
        memory: Any  # {"SRAM": "256KiB", "PSRAM": "8MiB@20"}, or texts as on the command line
        moves: bool
        place: Sequence[str]  # "TENSOR=MEMORY@OFFSET"
        stream: bool | str | Sequence[str]
        axes: str
        blocks: str
        granule: int
        layout: str
        recompute: float | str | tuple[float, float]
        run: str
        feed: Mapping[str, str] | Sequence[str]
        release: str | Sequence[str]
        near: str | os.PathLike[str]
        banks: str
        reuse_threshold: int | str  # these three: now in `strategy`, "rectangle:rounds=2"
        sort: str
        rounds: int
        dim: Mapping[str, Size] | Sequence[str]
        shape: Mapping[str, Sequence[Size]] | Sequence[str]
        every_size: bool
        bound: Mapping[str, int | str] | Sequence[str]
        value: Mapping[str, Any] | Sequence[str]  # an array or a list of numbers by the name of an input
        state: Mapping[str, str] | Sequence[str]
        scratch: str | os.PathLike[str]
        join: Mapping[str, str] | Sequence[str]


# A file, its bytes, or an object with `SerializeToString` such as onnx.ModelProto.
Model = Union[str, "os.PathLike[str]", bytes, Any]
Models = Union[Model, Sequence[Model], Mapping[str, Model]]
Source = tuple[str, str, "bytes | None"]

# The command's own table: the names, and whether an option is a "text", a "list" of texts or a "flag".
KINDS = dict(_core.options())
NAMES = sorted(KINDS)


def source_of(model: Model, number: int) -> tuple[str | None, str, bytes | None]:
    """Name (None: by the file), file and bytes of a model."""
    if isinstance(model, (str, os.PathLike)):
        return None, os.fspath(model), None
    if isinstance(model, (bytes, bytearray, memoryview)):
        content = bytes(model)
    elif hasattr(model, "SerializeToString"):
        content = model.SerializeToString()
    else:
        raise UsageError(f"model is {type(model).__name__}, expected a path, bytes or an onnx.ModelProto")
    return None, "model" if number == 0 else f"model-{number + 1}", content


def sources_of(models: Models) -> list[Source]:
    """All models with their names: the keys of a dict, otherwise the stems of files."""
    found: list[tuple[str | None, str, bytes | None]] = []
    if isinstance(models, Mapping):
        for number, (name, model) in enumerate(models.items()):
            found.append((name, *source_of(model, number)[1:]))
    elif isinstance(models, (list, tuple)):
        found = [source_of(model, number) for number, model in enumerate(models)]
    else:
        found = [source_of(models, 0)]
    if not found:
        raise UsageError("there is no model, expected at least one")
    taken = {name for name, _, _ in found if name is not None}
    sources: list[Source] = []
    for name, file, content in found:
        if name is None:
            stem = name = pathlib.PurePath(file).stem
            number = 2
            while name in taken:
                name = f"{stem}-{number}"
                number += 1
            taken.add(name)
        sources.append((name, file, content))
    return sources


def texts_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as the texts of the command."""
    texts: dict[str, Any] = {}
    if options.get("align") is not None and options.get("alignment") is not None:
        raise UsageError("alignment and align are one option, expected one of them")
    for given, value in options.items():
        name = "align" if given == "alignment" else given
        if name not in NAMES:
            near = ["capacity"] if name == "budget" else difflib.get_close_matches(name, NAMES, 1)
            meant = f"did you mean {near[0]!r}? " if near else ""
            raise TypeError(f"unknown option {name!r}; {meant}options are: {', '.join(NAMES)}")
        if value is None or value is False:
            continue
        text = text_of(name, value)
        if text == "":
            raise UsageError(f"{name} is empty")
        texts[name] = text
    return texts


def text_of(name: str, value: Any) -> Any:
    if KINDS[name] == "flag":
        return True
    if name == "stream":
        if value is True:
            return "all"
        return value if isinstance(value, str) else ",".join(str(item) for item in value)
    if name == "recompute":
        return "..".join(f"{number:f}" for number in value) if isinstance(value, tuple) else plain(value)
    if name == "memory":
        return memories_of(value)
    if name in ("dim", "shape") and isinstance(value, Mapping):
        return [f"{tensor}={sizes_of(given, name == 'shape')}" for tensor, given in value.items()]
    if name == "value" and isinstance(value, Mapping):
        return [f"{tensor}={','.join(elements_of(given))}" for tensor, given in value.items()]
    if KINDS[name] == "list":
        return assignments_of(value)
    return plain(value)


def plain(value: Any) -> str:
    """A number without exponent, which the command does not read."""
    if isinstance(value, bool):
        raise UsageError(f"{value} is no value of an option that takes a number or a text")
    return f"{value:f}" if isinstance(value, float) else os.fspath(value) if hasattr(value, "__fspath__") else str(value)


def memories_of(value: Any) -> list[str]:
    """{"SRAM": "256KiB", "PSRAM": "8MiB@20", "DRAM": None}, or texts of the command."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [memory_of(str(name), "" if size is None else str(size)) for name, size in value.items()]
    return [str(item) for item in value]


def memory_of(key: str, value: str) -> str:
    """NAME=SIZE@COST,granule=SIZE:weights, whose parts after the size may be with the name or with the size."""
    parts = r"(.*?)(@[^,:]*)?(,granule=[^:]*)?(:weights)?"
    name, *of_name = re.fullmatch(parts, key, re.DOTALL).groups("")  # type: ignore[union-attr]
    size, *of_size = re.fullmatch(parts, value, re.DOTALL).groups("")  # type: ignore[union-attr]
    for first, second in zip(of_name, of_size):
        if first and second:
            raise UsageError(f"memory {name!r} has {first!r} and {second!r}, expected one of them")
    return name + (f"={size}" if size else "") + "".join(a or b for a, b in zip(of_name, of_size))


def sizes_of(given: Any, is_shape: bool) -> str:
    """A size, or those of a shape: 64, "..64" (up to 64) or (1, 64)."""
    if isinstance(given, list) and not is_shape:  # a plan for each of them
        return ",".join(str(item) for item in given)
    if is_shape and isinstance(given, Iterable) and not isinstance(given, str):
        return ",".join(sizes_of(item, False) for item in given)
    if isinstance(given, tuple):
        least, most = given
        return f"{least}..{most}"
    return str(given)


def elements_of(given: Any) -> list[str]:
    """The elements of an array, of a list or of lists of lists, in row-major order, or one number."""
    if hasattr(given, "tolist"):  # an array of NumPy
        given = given.tolist()
    if isinstance(given, Iterable) and not isinstance(given, str):
        return [text for item in given for text in elements_of(item)]
    return [str(given).lower() if isinstance(given, bool) else repr(given) if isinstance(given, float) else str(given)]


def assignments_of(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Mapping):
        return [str(item) for item in value]
    texts = []
    for name, given in value.items():
        sequence = isinstance(given, Iterable) and not isinstance(given, str)
        texts.append(f"{name}={','.join(str(item) for item in given) if sequence else given}")
    return texts


def arguments_of(texts: Mapping[str, Any]) -> list[str]:
    """The same options as arguments of the command."""
    arguments: list[str] = []
    for name, value in texts.items():
        flag = "--" + name.replace("_", "-")
        if KINDS[name] == "flag":
            arguments.append(flag)
        elif name == "stream":
            arguments.append(f"{flag}={value}")
        else:
            for item in value if isinstance(value, list) else [value]:
                arguments += [flag, item]
    return arguments
