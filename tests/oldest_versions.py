"""Prints requirements that pin each dependency of pyproject.toml to its oldest allowed version, for `make test-oldest`.

Arguments: extras whose dependencies are pinned too.
"""

from __future__ import annotations

import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from packaging.requirements import Requirement


def oldest(extras: list[str]) -> list[str]:
    """`name==version` of each dependency that has a lower bound on this system."""
    path = Path(__file__).parents[1] / "pyproject.toml"
    project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"], *(line for name in extras for line in project["optional-dependencies"][name])]
    found = {}
    for requirement in map(Requirement, lines):
        bounds = [bound.version for bound in requirement.specifier if bound.operator in (">=", "==")]
        if bounds and (requirement.marker is None or requirement.marker.evaluate()):
            found[requirement.name] = f"{requirement.name}=={bounds[0]}"
    return [*found.values()]


if __name__ == "__main__":
    sys.stdout.write("\n".join(oldest(sys.argv[1:])) + "\n")
