"""Notes on packed data, from their manifest: what was packed otherwise than the options may mean."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from slmtok.calls import warn_caller
from slmtok.corpus import format_of, notes
from slmtok.corpus.globs import matches
from slmtok.errors import Message, Setting, render
from slmtok.options import ReadOptions


def uncut_notes(manifest: dict[str, Any]) -> list[Message]:
    """The note on a separator that cut no file; the split of a lone document in two is no cut."""
    plan, documents = manifest["plan"], sum(shard["docs"] for shard in manifest["shards"])
    separator = plan["options"]["read"].get("separator")
    is_cut = plan["split"].get("cut") is not None
    return [notes.uncut_note(separator)] if separator and documents - is_cut <= len(plan["sources"]) else []


def tail_left_out(manifest: dict[str, Any]) -> tuple[Message, Message] | None:
    """(the fact, the fix) where a limit of the text ends before the tail of a lone document; None for other data.

    A lone document is cut in two, and a limit ends with the first part that reaches it.
    """
    plan = manifest["plan"]
    read, cut = plan["options"]["read"], plan["split"].get("cut")
    limit = next((name for name in ("max_docs", "max_bytes") if read.get(name) is not None), None)
    if cut is None or limit is None or "val" in manifest["splits"]:
        return None
    fact = (Setting(limit, read[limit]), " ends within the first document, before its tail for validation")
    more = Setting(limit, 2 if limit == "max_docs" else cut + 1)
    cutting = ReadOptions(**{name: read[name] for name in ("format", "document", "separator") if name in read})
    is_whole = format_of(plan["sources"][0]["name"], cutting).is_whole
    return fact, ((Setting("document", "line"), ", or ", more) if is_whole else (more,))


def domain_notes(manifest: dict[str, Any]) -> list[Message]:
    """Notes on domains whose globs match no source."""
    plan = manifest["plan"]
    names = [source["name"] for source in plan["sources"]]
    domains = plan["options"]["read"].get("domains", {})
    return [
        notes.domain_note(domain, globs, names)
        for domain, globs in domains.items()
        if not any(matches(name, glob) for name in names for glob in globs)
    ]


def warn_of_packed(
    manifest: dict[str, Any], out: str | os.PathLike[str], of_files: Sequence[Message], *, force: bool
) -> None:
    """Warns of a separator that cuts no file, of records left out, of domains without text and of an empty split.

    of_files: the notes on what the files hold, which the manifest does not say. force: whether the call replaces what
    is packed, so that with another option it needs no more.
    """
    uncut = uncut_notes(manifest)
    of_options = [*uncut, *domain_notes(manifest)]
    found = of_options if force else [_packing_again(note) for note in of_options]
    if manifest["skipped"]:
        found.append(notes.skipped_by_option(manifest["skipped"]))
    found += map(_packing_again, of_files)
    for note in found:
        warn_caller(render(note))
    _warn_of_split(manifest, os.fspath(out), is_uncut=bool(uncut))


def _packing_again(note: Message) -> Message:
    return (*((note,) if isinstance(note, str) else note), "; ", Setting("force", True), " packs again")


def _warn_of_split(manifest: dict[str, Any], out: str, *, is_uncut: bool) -> None:
    """Warns where the rule of the validation split chose no document, or all.

    is_uncut: whether a separator cut no file, which leaves the rule few documents and is what to change.
    """
    rule, held = manifest["plan"]["split"]["rule"], {shard["split"] for shard in manifest["shards"]}
    documents = sum(shard["docs"] for shard in manifest["shards"])
    if left_out := tail_left_out(manifest):
        fact, fix = map(render, left_out)
        warn_caller(f"{fact}: {out!r} has no val documents; {fix} makes some; force=True packs again")
        return
    fix = "; val='tail:10%' makes some of any corpus; force=True packs again"
    for name, share in (("val", "none"), ("train", "all")):
        if rule != "none" and name not in held:
            warn_caller(
                f"val={rule!r} chose {share} of {documents} document{'s' * (documents != 1)}: {out!r} has no "
                f"{name} documents{'' if rule.startswith('tail') or is_uncut else fix}"
            )
