"""Links between the pages of the project have a target, and the files and Python names that pages mention exist.

Links to the web are not followed. Decisions may mention what they removed.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest
from sources import ROOT, files, name

LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`[^`\n]*`")
MENTIONED_FILE = re.compile(r"`([\w.-]+/(?:[\w.-]+/)*[a-z0-9_]+\.(?:py|pyi|rs|tsv|toml))`")
MENTIONED_NAME = re.compile(r"\b((?:slmtok|slmmodel)(?:\.(?!json|toml|lock)[A-Za-z_]\w*)+)")
ROOTS = ("", "slmtok/", "slmmodel/", "rust/slmtok-core/", "rust/slmtok-core/src/", "tests/")
"""Folders from which pages name files."""


def pages() -> list[Path]:
    """All Markdown files of the project."""
    top = sorted(ROOT.glob("*.md"))
    return top + files("docs", "benchmarks", "examples", "rust", "tests", suffix=".md")


def _anchors(page: Path) -> set[str]:
    """Anchors of the headings, as GitHub generates them."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", pages(), ids=name)
def test_links_have_a_target(page: Path) -> None:
    prose = CODE.sub("", FENCE.sub("", page.read_text(encoding="utf-8")))
    broken = []
    for target in LINK.findall(prose):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        destination = (page.parent / file).resolve() if file else page
        inside = destination == ROOT or ROOT in destination.parents
        if not inside or not destination.exists() or (anchor and anchor not in _anchors(destination)):
            broken.append(target)
    assert broken == []


def test_every_page_of_the_documentation_is_in_its_index() -> None:
    index = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    linked = {target.split("#")[0] for target in LINK.findall(index)}
    documents = {path.relative_to(ROOT / "docs").as_posix() for path in files("docs", suffix=".md")}
    assert documents - linked - {"README.md"} == set()


CURRENT = [page for page in pages() if "decisions" not in page.parts]


@pytest.mark.parametrize("page", CURRENT, ids=name)
def test_mentioned_files_exist(page: Path) -> None:
    mentioned = MENTIONED_FILE.findall(page.read_text(encoding="utf-8"))
    assert [file for file in mentioned if not any((ROOT / root / file).exists() for root in ROOTS)] == []


@pytest.mark.parametrize("page", CURRENT, ids=name)
def test_mentioned_names_exist(page: Path) -> None:
    pytest.importorskip("torch")
    mentioned = sorted(set(MENTIONED_NAME.findall(page.read_text(encoding="utf-8"))))
    assert [path for path in mentioned if not _is_importable(path)] == []


def _is_importable(path: str) -> bool:
    """Whether a dotted path is a module, or an attribute of one, at any depth."""
    parts = path.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found: object = import_module(".".join(parts[:end]))
        except ImportError:
            continue
        for part in parts[end:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


@pytest.mark.parametrize("page", pages(), ids=name)
def test_code_in_tables_has_no_escaped_bar(page: Path) -> None:
    """GitHub shows `a\\|b` as a|b, the site with the backslash; `<code>a&#124;b</code>` is the same on both."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    rows = (line for line in text.splitlines() if line.startswith("|"))
    assert [row for row in rows if any("\\|" in code for code in CODE.findall(row))] == []
