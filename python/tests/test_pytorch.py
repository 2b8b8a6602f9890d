"""PyTorch's memory snapshots and traces of its profiler."""

import json
import os
import pickle
import random

import pytest

import stowage
from stowage.pytorch import Block, main, read_plain_pickle, read_profile, read_snapshot


def event(action, addr, size):
    return {"action": action, "addr": addr, "size": size, "stream": 0, "frames": [{"name": "at::empty"}, {"filename": "/home/u/train.py", "name": "f", "line": 3}]}


SNAPSHOT = {
    "segments": [{"device": 0, "address": 1000, "total_size": 512, "blocks": [
        {"address": 1000, "size": 128, "state": "active_allocated"}, {"size": 384, "state": "inactive"}]}],
    "device_traces": [[
        event("segment_alloc", 5000, 256), event("alloc", 5000, 64), event("free_requested", 5000, 64),
        event("free_completed", 5000, 64), event("free_completed", 7000, 32), event("alloc", 5000, 96),
        event("free_completed", 5000, 96), event("segment_free", 5000, 256)], []],
}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_snapshot(tmp_path, protocol):
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(pickle.dumps(SNAPSHOT, protocol=protocol))
    (device,) = read_snapshot(path)
    assert device.device == "cuda:0"
    assert device.blocks == [Block(1000, 128, 0, 6), Block(7000, 32, 0, 3), Block(5000, 64, 1, 2),
                             Block(5000, 96, 4, 5)]
    assert (device.live_peak, device.reserved) == (224, 768)
    offsets = device.plan()
    assert (offsets.peak, offsets.bound) == (224, 224)
    assert [it.size for it in device.at_peak()] in ([128, 64, 32], [128, 96])


def test_command(tmp_path, capsys):
    path, output = tmp_path / "snapshot.pickle", tmp_path / "list.csv"
    path.write_bytes(pickle.dumps(SNAPSHOT))
    assert main([str(path), "-o", str(output)]) == 0
    text = capsys.readouterr().out
    assert "cuda:0: 4 blocks; live 224, reserved 768, planned 224, bound 224 bytes" in text
    assert output.read_text().splitlines()[3] == "2 train.py:3 f,1,2,64"
    assert stowage.plan(output).peak == 224
    assert main([str(path), "--json", "--device", "cuda:0"]) == 0
    (device,) = json.loads(capsys.readouterr().out)
    assert sum(it["size"] for it in device["at_peak"]) == device["live_peak"] == 224
    assert main([str(path), "--device", "cpu"]) == 3
    assert "no events of cpu" in capsys.readouterr().err


def test_code_in_a_pickle_is_not_run(tmp_path):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "made"),)

    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(stowage.Error, match="GLOBAL"):
            read_plain_pickle(pickle.dumps({"device_traces": [Evil()]}, protocol=protocol))
    assert not (tmp_path / "made").exists()


def test_plain_pickles_are_read_as_they_are():
    shared = ["x", 2**80, -1, 1.5, None, True, False, (), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)]
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        value = {"a": shared, "b": [shared, {}], 3: "\u00e9\n"}
        assert read_plain_pickle(pickle.dumps(value, protocol=protocol)) == value


def test_damaged_pickles_are_refused():
    data = pickle.dumps(SNAPSHOT)
    draw = random.Random(3)
    for _ in range(300):
        bad = bytearray(data)
        for _ in range(draw.randint(1, 4)):
            bad[draw.randrange(len(bad))] = draw.randrange(256)
        try:
            read_plain_pickle(bytes(bad[:draw.randint(1, len(bad))]))
        except stowage.Error:
            pass


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "other"
    for value in ([], {"device_traces": 3}, {"device_traces": [[3]]}, {"device_traces": [[{"action": "alloc"}]]}):
        path.write_bytes(pickle.dumps(value))
        with pytest.raises(stowage.Error, match="no memory snapshot"):
            read_snapshot(path)
    path.write_text("{}")
    with pytest.raises(stowage.Error, match="no trace"):
        read_profile(path)


def test_profile(tmp_path):
    def memory(ts, addr, size, device=0):
        return {"name": "[memory]", "ph": "i", "ts": ts, "args": {
            "Device Type": 1, "Device Id": device, "Addr": addr, "Bytes": size, "Total Reserved": 512}}

    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": [
        memory(3, 10, -64), memory(1, 10, 64), memory(2, 20, 32), {"name": "aten::add", "ts": 0},
        memory(4, 10, 64), memory(5, 99, 8, device=1)]}))
    first, second = read_profile(path)
    assert (first.device, first.live_peak, first.reserved, first.plan().peak) == ("cuda:0", 96, 512, 96)
    assert (second.device, second.blocks) == ("cuda:1", [Block(99, 8, 1, 2)])
