"""Links between the pages of the project have a target: file and heading exist. Links to the web are not followed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sources import ROOT, files, name

LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`[^`\n]*`")


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
