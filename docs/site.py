"""Hook of MkDocs: links of a page to files outside `docs/` lead to the repository."""

from __future__ import annotations

import posixpath
import re
from typing import Any

_LINK = re.compile(r"(?<=\]\()(\.\./[^)\s]+)")


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """The text of a page with its outside links rewritten."""

    def target(link: re.Match[str]) -> str:
        path, mark, anchor = link[1].partition("#")
        inside = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page.file.src_uri), path))
        if inside == "docs" or inside.startswith("docs/"):
            return link[1]
        return f"{config['repo_url']}/blob/main/{inside}{mark}{anchor}"

    return _LINK.sub(target, markdown)
