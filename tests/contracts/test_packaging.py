"""Workflows, citation and metadata: valid by their schemas, and what they name exists."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from sources import ROOT, name

import slmtok

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def check(schema: str, *files: Path) -> None:
    """Validates files by a schema that check-jsonschema carries."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_workflows_and_citation_are_valid() -> None:
    check("github-workflows", *WORKFLOWS)
    check("citation-file-format", ROOT / "CITATION.cff")


def runs() -> list[tuple[str, str]]:
    """(file, command) of every `run` of the workflows."""
    jobs = [(name(path), job) for path in WORKFLOWS for job in yaml.safe_load(path.read_bytes())["jobs"].values()]
    return [(path, step["run"]) for path, job in jobs for step in job["steps"] if "run" in step]


def test_workflows_run_targets_that_exist() -> None:
    targets = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    called = {target for _, command in runs() for target in re.findall(r"\bmake ([\w-]+)", command)}
    assert {"setup", "test"} <= called <= targets


def test_workflows_cover_the_platforms_and_publish_by_hand_alone() -> None:
    tests, wheels = (path.read_text(encoding="utf-8") for path in WORKFLOWS)
    for runner in ("ubuntu-24.04", "ubuntu-24.04-arm", "macos-15", "windows-2025"):
        assert f"runner: {runner}" in tests + wheels or f"runs-on: {runner}" in tests
    for platform in ("manylinux_2_17", "musllinux_1_2", "universal2-apple-darwin", "pc-windows-msvc", "maturin sdist"):
        assert platform in wheels
    publish = yaml.safe_load(wheels)["jobs"]["publish"]
    assert publish["if"] == "github.event_name == 'workflow_dispatch' && inputs.publish"
    assert "secrets." not in tests + wheels and "pypi-publish" not in tests


def test_the_extra_all_has_every_other_one() -> None:
    extras = dict(PROJECT["optional-dependencies"])
    (everything,) = extras.pop("all")
    assert set(re.fullmatch(r"slmtok\[(.*)\]", everything)[1].split(",")) == set(extras)  # type: ignore[index]


def test_integers_have_64_bits_on_windows() -> None:
    assert "numpy>=2; sys_platform == 'win32'" in PROJECT["dependencies"]


@pytest.mark.parametrize("needed", ["Linux", "MacOS", "Windows", "Python :: 3.10", "Science/Research"])
def test_classifiers(needed: str) -> None:
    assert any(needed in classifier for classifier in PROJECT["classifiers"])


def test_addresses_and_citation_agree() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_bytes())
    assert citation["repository-code"] == PROJECT["urls"]["Repository"]
    assert citation["version"] == slmtok.__version__
    assert " OR ".join(citation["license"]) == PROJECT["license"]
    assert {"Repository", "Documentation", "Issues", "Changelog"} <= set(PROJECT["urls"])


def test_the_site_has_every_page() -> None:
    """`make docs` builds it strictly, which also finds links without a target."""
    listed = re.findall(
        r"^ +- (?:Overview: )?(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE
    )
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    assert sorted(listed) == sorted(pages)
    assert "/site/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert "mkdocs build --strict" in (ROOT / "Makefile").read_text(encoding="utf-8")
