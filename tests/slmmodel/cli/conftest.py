"""Running `slm` inside the test's own process."""

from __future__ import annotations

import io
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from printed_fixes import without_comments

from slmmodel.cli import ablation_sections, demo, main, run_sections
from slmtok.pages.charts import line_chart


@dataclass(frozen=True)
class Ran:
    """What a command left: exit status, and what it printed."""

    code: int
    out: str
    stderr: str

    @property
    def err(self) -> str:
        """Without the comments on placeholders, which `stderr` has."""
        return without_comments(self.stderr)

    @property
    def json(self) -> dict[str, Any]:
        """The one object on stdout."""
        content = json.loads(self.out)
        assert isinstance(content, dict)
        return content


@pytest.fixture
def slm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """`slm("train", "data", …)` in an empty folder; with `code`, asserts that exit status."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments: object, code: int | None = None) -> Ran:
        out, err = io.BytesIO(), io.BytesIO()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="utf-8", write_through=True))
            patch.setattr(sys, "stderr", io.TextIOWrapper(err, encoding="utf-8", write_through=True))
            ran_code = main([str(argument) for argument in arguments])
            sys.stdout.flush()
            ran = Ran(ran_code, out.getvalue().decode(), err.getvalue().decode())
        assert code in (None, ran.code), ran.err
        return ran

    return run


@pytest.fixture(autouse=True, scope="session")
def drawn_charts() -> Iterator[dict[str, str]]:
    """Charts of reports by what they show: an equal one is not drawn again, which takes 0.3 s."""
    drawn: dict[str, str] = {}

    def drawn_once(*arguments: Any, **options: Any) -> str:
        key = repr((arguments, options))
        if key not in drawn:
            drawn[key] = line_chart(*arguments, **options)
        return drawn[key]

    with pytest.MonkeyPatch.context() as patch:
        for module in (run_sections, ablation_sections):
            patch.setattr(module, "line_chart", drawn_once)
        yield drawn


@pytest.fixture
def here(slm: Callable[..., Ran], made: Path, tmp_path: Path) -> Path:
    """A copy of the folder `made` of a test file, which is the working folder of its commands."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture
def short_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sampling takes most of the time of a small demo."""
    for kind in ("ONE_TEXT", "STORIES"):
        monkeypatch.setattr(demo, kind, getattr(demo, kind)._replace(sample_ids=4))
