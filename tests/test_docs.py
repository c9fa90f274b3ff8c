"""The code blocks of README and guides run, in order, in a fresh folder, with the documented results.

`bash` blocks run under `set -euo pipefail`; `python` blocks of a page share their names, and a line that ends in
`# -> x` must have the value whose repr is x. `console` and `text` blocks are not run. A block marked `python tiktoken`
is independent of the others and needs rank files of tiktoken. A page that needs a corpus generates it.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from shared_data import tiktoken_cache

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs/guide").glob("*.md"))]
_BLOCK = re.compile(r"^```(\w+)(?: (\w+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_EXPECTED = re.compile(r"#\s*->\s*(.*)$")


class Block(NamedTuple):
    """One fenced block: its language, the word after it, its first line number, its text."""

    language: str
    mark: str
    line: int
    text: str


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page."""
    content = page.read_text(encoding="utf-8")
    return [
        Block(found[1], found[2] or "", content.count("\n", 0, found.start(3)) + 1, found[3])
        for found in _BLOCK.finditer(content)
    ]


def run_python(block: Block, page: Path, names: dict[str, Any]) -> int:
    """Runs a block and checks its `# ->` lines; returns how many there were."""
    lines = block.text.splitlines()
    checked = 0
    for node in ast.parse(block.text).body:
        where = f"{page.name}:{block.line + node.lineno - 1}"
        expected = _EXPECTED.search(lines[(node.end_lineno or node.lineno) - 1])
        if isinstance(node, ast.Expr) and expected:
            value = eval(compile(ast.Expression(node.value), where, "eval"), names)
            assert repr(value) == expected[1], where
            checked += 1
        else:
            exec(compile(ast.Module([node], []), where, "exec"), names)
    return checked


def run_shell(block: Block, page: Path, environment: Mapping[str, str]) -> None:
    """Runs a block, which names the commands as a reader does."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.text], env=environment, capture_output=True, text=True
    )
    # 141: a reader such as `head` closed the pipe.
    assert done.returncode in (0, 141), f"{page.name}:{block.line}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_blocks_run_with_documented_results(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commands: Mapping[str, str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    ran = [block for block in blocks(page) if not block.mark and block.language in ("bash", "python")]
    assert ran or page.name not in ("README.md", "quickstart.md", "python-api.md"), "no block that runs"
    for block in ran:
        if block.language == "python":
            run_python(block, page, names)
        else:
            run_shell(block, page, commands)


@pytest.mark.shared
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_blocks_about_tiktoken(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marked = [block for block in blocks(page) if block.mark == "tiktoken"]
    if marked:
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tiktoken_cache()))
    for block in marked:
        assert run_python(block, page, {"__name__": "__main__"}) > 0


def test_every_block_has_a_known_language() -> None:
    unknown = [
        f"{page.name}:{block.line} {block.language} {block.mark}"
        for page in PAGES
        for block in blocks(page)
        if block.language not in ("bash", "python", "console", "text", "json", "yaml", "mermaid")
        or block.mark not in ("", "tiktoken")
    ]
    assert unknown == []


def test_a_wrong_result_is_detected(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"page\.md:7"):
        run_python(Block("python", "", 7, "1 + 1  # -> 3\n"), tmp_path / "page.md", {})
    with pytest.raises(AssertionError, match=r"page\.md:7"):
        run_shell(Block("bash", "", 7, "false\n"), tmp_path / "page.md", os.environ)
