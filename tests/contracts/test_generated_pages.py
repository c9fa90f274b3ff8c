"""The generated pages of the documentation are those of the commands and settings of today.

A flag or setting is a promise: one that is removed or renamed is a changed line of a page.
"""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

import pytest
from sources import ROOT


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    """The generator, a script."""
    pytest.importorskip("torch")
    spec = spec_from_file_location("generate", ROOT / "docs/reference/generate.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pages_are_current(generate: ModuleType) -> None:
    old = [path.name for path, content in generate.pages().items() if path.read_text(encoding="utf-8") != content]
    assert old == [], "run: python docs/reference/generate.py"


def test_every_setting_is_on_its_page_with_a_meaning(generate: ModuleType) -> None:
    from slmmodel.config import OPTIONS
    from slmmodel.models.config import DecoderConfig, RecurrentConfig

    rows = [line.split(" | ") for line in generate.settings_page().splitlines() if line.startswith("| `")]
    documented = {row[0].split("`")[1] for row in rows}
    models = {*DecoderConfig.model_fields, *RecurrentConfig.model_fields}
    assert documented >= {*(f"model.{name}" for name in models), *OPTIONS} - {"data.options"}
    assert [row[0] for row in rows if len(row[-1].strip(" |")) < 3] == []


def test_a_corpus_has_one_table(generate: ModuleType) -> None:
    pages = [*(ROOT / "docs/guide").glob("*.md"), *(ROOT / "docs/reference").glob("*.md")]
    holders = [page.name for page in pages if "| `--separator STRING`" in page.read_text(encoding="utf-8")]
    assert holders == ["corpus.md"]
    linked = generate.fill_commands((ROOT / "docs/guide/commands.md").read_text(encoding="utf-8"))
    assert linked.count("(../reference/corpus.md)") > 5


def test_every_command_is_documented(generate: ModuleType) -> None:
    from slmmodel.cli import COMMANDS as SLM
    from slmtok.cli import COMMANDS

    page = (ROOT / "docs/guide/commands.md").read_text(encoding="utf-8")
    tables = [line for line in page.splitlines() if line.startswith("<!-- options of")]
    assert sorted(tables) == sorted(map(generate.BEGIN.format, COMMANDS))
    assert [f"## {name}" for name in SLM] == [
        line for line in generate.slm_page().splitlines() if line.startswith("## ")
    ]
