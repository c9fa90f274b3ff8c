"""The registry of layouts: how ids lie in files. To add one, write its file with a `Layout` and its line in `LAYOUTS`.

Other people's layouts are written from finished shards of ours and read back as documents; see docs/formats/shards.md
for what each of them forgets.
"""

from __future__ import annotations

from slmtok.shards.layouts import llama2c, llmc, nanogpt, npy, slm
from slmtok.shards.layouts.base import Layout, TokenFile, Writing

__all__ = ["LAYOUTS", "Layout", "TokenFile", "Writing"]

LAYOUTS: dict[str, Layout] = {member.LAYOUT.name: member.LAYOUT for member in (slm, nanogpt, llama2c, llmc, npy)}
