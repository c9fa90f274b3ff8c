"""The notebooks of `examples/` run from top to bottom, and are stored without outputs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
SECONDS = 120
"""For one cell on a busy machine; the longest takes 10 s."""


def test_there_are_four_notebooks() -> None:
    subjects = [path.stem.partition("-")[2] for path in NOTEBOOKS]
    assert subjects == ["tokenizer", "corpus-to-shards", "model", "comparing-tokenizers"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_stripped(path: Path) -> None:
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.id for cell in code if cell.outputs or cell.execution_count] == []
    assert set(notebook.metadata) == {"kernelspec", "language_info"}


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One kernel for all notebooks: starting it and importing torch takes longer than most of them."""
    from jupyter_client.manager import KernelManager

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
        patch.setenv("IPYTHONDIR", str(tmp_path_factory.mktemp("ipython")))
        manager = KernelManager(kernel_name="python3")
        manager.start_kernel(cwd=str(tmp_path_factory.mktemp("notebooks")))
        try:
            yield manager
        finally:
            manager.shutdown_kernel(now=True)
            manager.cleanup_resources()


@pytest.mark.slow
# The kernel is another process, which talks to this one through sockets of the machine.
@pytest.mark.cluster
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, kernel: Any) -> None:
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    # Without the names and the files of the notebook before.
    fresh = nbformat.v4.new_code_cell(f"%reset -f\nimport os\nos.chdir({str(tmp_path)!r})\ndel os")
    notebook.cells.insert(0, fresh)
    client = NotebookClient(notebook, km=kernel, timeout=SECONDS)
    try:
        client.execute()
    finally:
        client.kc.stop_channels()
    printed = "".join(output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", []))
    assert printed and "error:" not in printed, printed
