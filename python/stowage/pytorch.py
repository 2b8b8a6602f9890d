"""What PyTorch's allocator did, as buffers: memory snapshots and traces of the profiler, read without PyTorch.

    from stowage.pytorch import read_snapshot

    for device in read_snapshot("snapshot.pickle"):  # of torch.cuda.memory._dump_snapshot
        print(device.live_peak, device.reserved, device.plan().peak, device.at_peak()[:3])

`python -m stowage.pytorch FILE` prints the same, and writes lists for `stowage compare` and `stowage report`.
docs/compilers.md explains it.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import pickle
import pickletools
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stowage._errors import Error
from stowage._pack import Offsets, pack


@dataclass(frozen=True)
class Block:
    """`size` bytes at an address, live from event `start` to before event `end`; `frame` is the place in the code that
    asked for them, if the file says so."""

    address: int
    size: int
    start: int
    end: int
    frame: str = field(default="", compare=False)


@dataclass(frozen=True)
class DeviceMemory:
    """The blocks of a device, and the most bytes that the allocator had reserved, if that is known."""

    device: str
    blocks: list[Block]
    reserved: int | None

    def _peak(self) -> tuple[int, int]:
        changes: dict[int, int] = {}
        for block in self.blocks:
            changes[block.start] = changes.get(block.start, 0) + block.size
            changes[block.end] = changes.get(block.end, 0) - block.size
        live, most, when = 0, 0, 0
        for position in sorted(changes):
            live += changes[position]
            if live > most:
                most, when = live, position
        return most, when

    @property
    def live_peak(self) -> int:
        """The most bytes that were live at once."""
        return self._peak()[0]

    def at_peak(self) -> list[Block]:
        """The blocks that were live at that time, the largest first."""
        when = self._peak()[1]
        return sorted((it for it in self.blocks if it.start <= when < it.end), key=lambda it: -it.size)

    def plan(self, **options: Any) -> Offsets:
        """Offsets for all blocks, with their `peak` and `bound`. The options are those of `stowage.pack`."""
        return pack([it.start for it in self.blocks], [it.end for it in self.blocks],
                    [it.size for it in self.blocks], **options)

    def write_csv(self, path: str | os.PathLike[str]) -> None:
        """A buffer list (docs/cli.md, Inputs) for the command."""
        with open(path, "w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(["id", "lower", "upper", "size"])
            for number, it in enumerate(self.blocks):
                rows.writerow([f"{number} {it.frame}".strip(), it.start, it.end, it.size])

    def as_dict(self, **options: Any) -> dict[str, Any]:
        """What the command prints as JSON; the options are those of `stowage.pack`."""
        offsets = self.plan(**options)
        return {"device": self.device, "blocks": len(self.blocks), "live_peak": self.live_peak,
                "reserved": self.reserved, "bound": offsets.bound, "peak": offsets.peak,
                "at_peak": [{"size": it.size, "frame": it.frame} for it in self.at_peak()]}


def read_snapshot(path: str | os.PathLike[str]) -> list[DeviceMemory]:
    """Devices of a snapshot that have events. A block ends when its free is completed; one that was live before the
    first event begins with it. Nothing of the file is executed."""
    snapshot = read_plain_pickle(Path(path).read_bytes())
    if not isinstance(snapshot, dict) or not isinstance(snapshot.get("device_traces"), list):
        raise Error(f"{path} is no memory snapshot, expected a dict with device_traces")
    try:
        return [_device(number, trace, [it for it in snapshot.get("segments", []) if it.get("device", 0) == number])
                for number, trace in enumerate(snapshot["device_traces"]) if trace]
    except (AttributeError, KeyError, TypeError) as error:
        raise Error(f"{path} is no memory snapshot: {type(error).__name__}: {error}") from None


def _device(number: int, trace: list[Any], segments: list[Any]) -> DeviceMemory:
    changes = []
    growth = []
    for event in trace:
        if event["action"] in ("alloc", "free_completed"):
            sign = 1 if event["action"] == "alloc" else -1
            changes.append((event["addr"], sign * event["size"], _frame(event.get("frames"))))
        elif event["action"] in ("segment_alloc", "segment_map"):
            growth.append(event["size"])
        elif event["action"] in ("segment_free", "segment_unmap"):
            growth.append(-event["size"])
    still = {}
    for segment in segments:
        address = segment["address"]
        for block in segment["blocks"]:
            if str(block["state"]).startswith("active"):
                still[block.get("address", address)] = (block["size"], _frame(block.get("frames")))
            address += block["size"]
    reserved = now = sum(it["total_size"] for it in segments)
    for change in reversed(growth):
        now -= change
        reserved = max(reserved, now)
    return DeviceMemory(f"cuda:{number}", _blocks(changes, still), reserved)


def read_profile(path: str | os.PathLike[str]) -> list[DeviceMemory]:
    """Devices of a trace that `torch.profiler` exported with `profile_memory`."""
    try:
        trace = json.loads(Path(path).read_text(encoding="utf-8"))
        events = [it for it in trace["traceEvents"] if it.get("name") == "[memory]"]
        by_device: dict[str, list[Any]] = {}
        for event in sorted(events, key=lambda it: it["ts"]):
            name = {0: "cpu", 1: "cuda"}.get(event["args"]["Device Type"], "other")
            number = event["args"].get("Device Id", -1)
            by_device.setdefault(name if number < 0 else f"{name}:{number}", []).append(event["args"])
        return [DeviceMemory(name, _blocks([(it["Addr"], it["Bytes"], "") for it in them], {}),
                             max((it.get("Total Reserved", 0) for it in them), default=0) or None)
                for name, them in by_device.items()]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Error(f"{path} is no trace of the profiler: {type(error).__name__}: {error}") from None


def _frame(frames: Any) -> str:
    """The innermost place in Python code, or else the innermost place."""
    for it in frames or []:
        if str(it.get("filename", "")).endswith(".py"):
            return f"{os.path.basename(it['filename'])}:{it.get('line', '?')} {it.get('name', '')}".strip()
    return str(frames[0].get("name", "")) if frames else ""


def _blocks(changes: Iterable[tuple[int, int, str]], still: dict[int, tuple[int, str]]) -> list[Block]:
    """Addresses with what they get, or give back if negative, and where; `still` are blocks that are live at the end."""
    blocks = []
    live: dict[int, Block] = {}
    position = 0

    def end(address: int, otherwise: Block) -> None:
        it = live.pop(address, otherwise)
        blocks.append(Block(address, it.size, it.start, position, it.frame))

    for position, (address, size, frame) in enumerate(changes, 1):
        if size < 0:
            end(address, Block(address, -size, 0, 0))
        elif size > 0:
            if address in live:  # its end is not in the trace
                end(address, live[address])
            live[address] = Block(address, size, position, 0, frame)
    for address, (size, frame) in still.items():
        live.setdefault(address, Block(address, size, 0, 0, frame))
    position += 1
    for address in list(live):
        end(address, live[address])
    return sorted(blocks, key=lambda it: (it.start, it.address))


_MARK = object()
_VALUES = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_NEW = {"EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple}
_LITERALS = {"INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "UNICODE",
             "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8"}


def read_plain_pickle(data: bytes) -> Any:
    """The dicts, lists, tuples, texts and numbers of a pickle. Throws Error at an instruction that names a class or a
    function, or runs one."""
    stack: list[Any] = []
    memo: dict[int, Any] = {}

    def since_mark() -> list[Any]:
        at = max(i for i, it in enumerate(stack) if it is _MARK)
        values = stack[at + 1:]
        del stack[at:]
        return values

    def step(name: str, argument: Any) -> None:
        if name in _LITERALS:
            stack.append(argument)
        elif name in _VALUES:
            stack.append(_VALUES[name])
        elif name in _NEW:
            stack.append(_NEW[name]())
        elif name == "MARK":
            stack.append(_MARK)
        elif name in ("MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT"):
            memo[len(memo) if name == "MEMOIZE" else argument] = stack[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            stack.append(memo[argument])
        elif name == "APPEND":
            value = stack.pop()
            list.append(stack[-1], value)
        elif name == "APPENDS":
            values = since_mark()
            list.extend(stack[-1], values)
        elif name == "SETITEM":
            value, key = stack.pop(), stack.pop()
            dict.__setitem__(stack[-1], key, value)
        elif name == "SETITEMS":
            values = since_mark()
            dict.update(stack[-1], zip(values[::2], values[1::2]))
        elif name in ("TUPLE1", "TUPLE2", "TUPLE3"):
            count = int(name[-1])
            values = stack[-count:]
            stack[-count:] = [tuple(values)]
        elif name == "TUPLE":
            stack.append(tuple(since_mark()))
        elif name == "LIST":
            stack.append(since_mark())
        elif name == "DICT":
            values = since_mark()
            stack.append(dict(zip(values[::2], values[1::2])))
        elif name not in ("PROTO", "FRAME", "STOP"):
            raise Error(f"the pickle has the instruction {name}, expected plain data")

    try:
        for opcode, argument, _ in pickletools.genops(data):
            step(opcode.name, argument)
        (result,) = stack
        return result
    except (IndexError, KeyError, TypeError, ValueError, pickle.UnpicklingError) as error:
        raise Error(f"the pickle is damaged: {error}") from None


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m stowage.pytorch", description=(
        "What PyTorch's allocator did: the most bytes that were live and reserved, and what a plan would need."))
    parser.add_argument("file", help="memory snapshot (pickle), or trace of the profiler (JSON)")
    parser.add_argument("-o", "--output", metavar="FILE.csv",
                        help="write the blocks of a device as a list, for `stowage compare` and `stowage report`")
    parser.add_argument("--device", help="only this device, for instance cuda:0")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    given = parser.parse_args(arguments)
    try:
        with open(given.file, "rb") as file:
            is_profile = file.read(1) in b"{["
        devices = (read_profile if is_profile else read_snapshot)(given.file)
        if given.device:
            devices = [it for it in devices if it.device == given.device]
            if not devices:
                raise Error(f"{given.file} has no events of {given.device}")
        if given.output and len(devices) != 1:
            names = ", ".join(it.device for it in devices) or "none"
            raise Error(f"{given.file} has the devices {names}; choose one with --device")
    except (Error, OSError) as error:
        print(f"stowage.pytorch: {error}", file=sys.stderr)
        return 3
    found = [it.as_dict() for it in devices]
    if given.json:
        print(json.dumps(found, indent=1))
    for it in [] if given.json else found:
        print(f"{it['device']}: {it['blocks']} blocks; live {it['live_peak']}, "
              f"reserved {'unknown' if it['reserved'] is None else it['reserved']}, "
              f"planned {it['peak']}, bound {it['bound']} bytes")
        for block in it["at_peak"][:10]:
            print(f"  {block['size']:>14}  {block['frame']}".rstrip())
        if len(it["at_peak"]) > 10:
            print(f"  and {len(it['at_peak']) - 10} smaller blocks live at the peak")
    if given.output:
        devices[0].write_csv(given.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
