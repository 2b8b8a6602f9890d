"""The notebook in examples/ runs, and shows pictures and a report."""

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")


def test_notebook(root):
    notebook = nbformat.read(root / "examples/planning.ipynb", as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(root / "examples")}})
    client.execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    shown = [output.get("data", {}).get("text/html", "") for output in outputs]
    assert sum("<svg" in text and "<iframe" not in text for text in shown) == 2
    assert sum('title="stowage report"' in text for text in shown) == 1
    assert any("by rows" in output.get("text", "") for output in outputs)
