"""One arena for functions in MLIR, with the bindings of torch-mlir if they are there."""

import pathlib

import pytest

import stowage

ir = pytest.importorskip("torch_mlir.ir")

from stowage.mlir import plan_module  # noqa: E402


def planned(text, **options):
    with ir.Context() as context:
        context.allow_unregistered_dialects = True
        module = ir.Module.parse(text)
        reports = plan_module(module, **options)
        assert module.operation.verify()
        return str(module), reports


THREE = """
func.func @three(%x: memref<16xf32>, %y: memref<16xf32>) {
  %a = memref.alloc() : memref<16xf32>
  memref.copy %x, %a : memref<16xf32> to memref<16xf32>
  %b = memref.alloc() {alignment = 128 : i64} : memref<4x4xf32>
  "test.use"(%a, %b) : (memref<16xf32>, memref<4x4xf32>) -> ()
  memref.dealloc %a : memref<16xf32>
  %c = memref.alloc() : memref<16xf32>
  memref.copy %x, %c : memref<16xf32> to memref<16xf32>
  memref.copy %c, %y : memref<16xf32> to memref<16xf32>
  memref.dealloc %c : memref<16xf32>
  memref.dealloc %b : memref<4x4xf32>
  return
}
"""


def test_buffers_share_one_arena():
    text, (report,) = planned(THREE)
    assert (report.name, report.bytes, report.bound, report.apart) == ("three", 128, 128, 192)
    assert (report.placed, report.left) == (3, 0)
    assert text.count("memref.alloc") == 1 and text.count("memref.dealloc") == 1
    assert text.count("memref.view") == 3
    assert "alignment = 128" in text and "memref<128xi8>" in text


def test_what_cannot_be_placed_stays():
    text, (report,) = planned("""
func.func @f(%n: index, %go: i1) -> memref<8xf32> {
  %open = memref.alloc(%n) : memref<?xf32>
  %out = memref.alloc() : memref<8xf32>
  %space = memref.alloc() : memref<8xf32, 1>
  %strided = memref.alloc() : memref<8xf32, strided<[2]>>
  %odd = memref.alloc() : memref<8xi3>
  %in = memref.alloc() : memref<8xindex>
  scf.if %go {
    %inner = memref.alloc() : memref<8xf32>
    memref.dealloc %inner : memref<8xf32>
  }
  memref.dealloc %in : memref<8xindex>
  memref.dealloc %odd : memref<8xi3>
  memref.dealloc %strided : memref<8xf32, strided<[2]>>
  memref.dealloc %space : memref<8xf32, 1>
  memref.dealloc %open : memref<?xf32>
  return %out : memref<8xf32>
}
func.func private @declared(memref<8xf32>)
func.func @nothing() { return }
""")
    assert (report.bytes, report.placed, report.left) == (64, 1, 6)
    assert text.count("memref.view") == 1


def test_several_blocks_stay():
    _, reports = planned("""
func.func @f() {
  %a = memref.alloc() : memref<8xf32>
  cf.br ^next
^next:
  memref.dealloc %a : memref<8xf32>
  return
}
""")
    assert reports == []


def test_options():
    with pytest.raises(stowage.UsageError, match="power of two"):
        planned(THREE, alignment=3)
    _, (report,) = planned(THREE.replace("{alignment = 128 : i64}", ""), alignment=1, effort=5)
    assert report.bytes == 128


def test_the_page_works(tmp_path, monkeypatch, capsys):
    page = (pathlib.Path(__file__).parents[2] / "docs" / "compilers.md").read_text()
    part = page[page.index("## MLIR"):page.index("## omnimalloc")]
    (tmp_path / "net.mlir").write_text(part.split("```mlir\n")[1].split("```")[0])
    monkeypatch.chdir(tmp_path)
    exec(compile(part.split("```python\n")[1].split("```")[0], "compilers.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert f"It prints `{printed[0]}`" in part
    assert any("memref.view %alloc[%c0][] : memref<1024xi8> to memref<8x16xf32>" in line for line in printed)


def test_it_runs():
    import ctypes

    import numpy as np
    from torch_mlir import execution_engine, passmanager, runtime

    text = THREE.replace('  "test.use"(%a, %b) : (memref<16xf32>, memref<4x4xf32>) -> ()\n', "")
    text = text.replace("func.func @three(%x: memref<16xf32>, %y: memref<16xf32>) {",
                        "func.func @three(%x: memref<16xf32>, %y: memref<16xf32>) "
                        "attributes {llvm.emit_c_interface} {")
    with ir.Context():
        module = ir.Module.parse(text)
        plan_module(module)
        passes = "expand-strided-metadata,finalize-memref-to-llvm,convert-func-to-llvm,convert-arith-to-llvm,"
        try:
            passmanager.PassManager.parse(f"builtin.module({passes}reconcile-unrealized-casts)").run(module.operation)
            engine = execution_engine.ExecutionEngine(module)
        except Exception as error:  # noqa: BLE001
            pytest.skip(f"these bindings do not run programs: {error}")
        x, y = np.arange(16, dtype=np.float32), np.zeros(16, dtype=np.float32)
        arguments = [ctypes.pointer(ctypes.pointer(runtime.get_ranked_memref_descriptor(it))) for it in (x, y)]
        engine.invoke("three", *arguments)
        assert (x == y).all()
