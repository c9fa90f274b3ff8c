"""The frame of every page: one HTML file that runs no code but its own, and asks no network."""

from __future__ import annotations

import hashlib
import html
import json
import os
import re
import zlib
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from slmtok import atomic
from slmtok.sizes import format_bytes


@dataclass(frozen=True, repr=False)
class Page:
    """A page of HTML in one file. A notebook draws it in place."""

    html: str
    title: str

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Writes the page whole or not at all. Raises `OutputExists` unless `force`, `DiskFull`, `Unreadable`."""
        atomic.write(path, self.html.encode(), force=force)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({format_bytes(len(self.html.encode()))} of HTML; save(path) writes it)"

    def _repr_html_(self) -> str:
        title = html.escape(self.title)
        return f'<iframe srcdoc="{html.escape(self.html)}" width="100%" height="640" title="{title}"></iframe>'


def frame(
    title: str, body: str, *, styles: Sequence[str] = (), scripts: Sequence[str] = (), data: object = None
) -> str:
    """The HTML of a page. title: text; body: HTML; styles, scripts: files of this package; data: JSON for the scripts.

    The policy of the page names the digest of its script, so that a browser runs no other.
    """
    fields = {
        "title": html.escape(visible(title)),
        "style": "".join(map(asset, ("page.css", *styles))),
        "body": body,
        "policy": "",
        "script": "",
    }
    if scripts:
        code = "\n" + "".join(map(asset, scripts))
        digest = b64encode(hashlib.sha256(code.encode()).digest()).decode()
        fields["policy"] = f"; script-src 'sha256-{digest}'"
        packed = f'<script type="text/plain" id="data">{pack(data)}</script>\n'
        fields["script"] = f"{packed}<script>{code}</script>\n"
    # In one pass: what a field holds is not searched for other fields.
    return re.sub(r"\{\{ (\w+) \}\}", lambda found: fields[found[1]], asset("frame.html"))


def pack(data: object) -> str:
    """JSON, compressed, in base64: no character of it means anything to HTML."""
    return b64encode(zlib.compress(json.dumps(data, ensure_ascii=False).encode(), 9)).decode()


def asset(name: str) -> str:
    """A file of this package."""
    return files("slmtok.pages").joinpath(name).read_text("utf-8")


def visible(text: str) -> str:
    """The text with what cannot be seen, or turns the direction of writing, by its number; line feeds stay."""
    return "".join(char if char.isprintable() or char == "\n" else f"\\u{ord(char):04x}" for char in text)


def examples() -> dict[str, str]:
    """Short texts of several kinds, by name."""
    found: dict[str, str] = json.loads(asset("examples.json"))
    return found
