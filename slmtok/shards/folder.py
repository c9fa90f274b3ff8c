"""The output folder of a run: ownership, removal of old files, atomic writes, and failures of its disk.

Only files that a manifest or a journal in the folder names are ever removed, and symbolic links are never followed.
"""

from __future__ import annotations

import errno
import os
import shlex
import shutil
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from slmtok import atomic
from slmtok.errors import DiskFull, Message, OutputExists, Setting, SlmtokError, Unreadable, render
from slmtok.shards.format import (
    JOURNAL,
    MANIFEST,
    PLAN,
    SPLITS,
    TOKENIZER,
    VOCAB,
    is_shard_file,
    is_subset,
    read_manifest,
    shard_name,
)
from slmtok.shards.journal import Journal, State, sync_folder

REMOVED = ".manifest.removed.json"
"""The manifest of a folder whose files are being removed."""
_FORMAT_FILES = {MANIFEST, PLAN, JOURNAL, VOCAB, TOKENIZER}


def make(folder: Path) -> None:
    """Creates the folder, and those above it. Raises `OutputExists` for a file, `MissingInput` for a broken link."""
    atomic.refuse_broken_link(folder, ("name another ", Setting("output")))
    if os.path.lexists(folder) and not folder.is_dir():
        raise OutputExists(f"output {str(folder)!r} is a file", fix="name a folder, or a new one", path=str(folder))
    folder.mkdir(parents=True, exist_ok=True)


def make_inner(folder: Path) -> None:
    """As `make`, for a folder within an output. Raises `OutputExists` for a symbolic link, which is not followed."""
    if folder.is_symlink():
        raise OutputExists(
            f"{str(folder)!r} is a symbolic link; files behind it are not replaced",
            where=str(folder.parent),
            fix="remove the link",
            path=str(folder),
        )
    make(folder)


def is_own_file(name: str) -> bool:
    """Whether `pack` writes files or folders of this name."""
    return name in _FORMAT_FILES or is_shard_file(name) or is_subset(name)


def holds_packing(folder: Path) -> bool:
    """Whether a run of `pack`, finished or not, has written into the folder; a tokenizer file alone is no sign."""
    return any((folder / name).is_file() for name in (MANIFEST, REMOVED, PLAN, JOURNAL))


def refuse_files(folder: Path, *, allow_own: bool = False) -> None:
    """Raises `OutputExists` for a folder with files; hidden ones, and with `allow_own` those of a run, are ignored."""
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    allow_own = allow_own and holds_packing(folder)
    others = [name for name in names if not (name.startswith(".") or (allow_own and is_own_file(name)))]
    if others:
        raise OutputExists(
            f"the folder {str(folder)!r} holds other files, such as {others[0]!r}",
            limit="a new folder, or one with packed data alone",
            fix=("name a new folder: another ", Setting("output")),
            path=str(folder),
        )


def finished(
    folder: Path,
    packed: Mapping[str, Any],
    vocabulary: Mapping[str, Any],
    difference: Message | None = None,
    kept: tuple[str | Setting, ...] = (),
) -> OutputExists:
    """The error for a folder that is complete.

    packed: `n_vocab` and `fingerprint` of its data. vocabulary: those of the tokenizer of this run. difference: another
    one from what this run would write. kept: what the fix says of options that were given before.
    """
    fact = f"output {str(folder)!r} already holds packed data"
    limit = difference
    if packed and packed["fingerprint"] != vocabulary["fingerprint"]:
        fact += " of another tokenizer"
        limit = f"ids of {_identified(packed)}, not of {_identified(vocabulary)}"
    is_of_others = "other sources" in render(limit or "")
    together = "; one command with all sources packs them together" if is_of_others else ""
    return OutputExists(
        fact,
        limit=limit,
        fix=(Setting("force", True), " to replace it", *kept, ", or name another ", Setting("output"), together),
        path=str(folder),
    )


def _identified(vocabulary: Mapping[str, Any]) -> str:
    return f"{vocabulary['fingerprint'][:8]}… with {vocabulary['n_vocab']:,} ids"


def wipe(folder: Path, shards_of_run: Collection[str] = ()) -> None:
    """Removes the files that the manifest names, and those of `shards_of_run`; links are removed, never followed.

    Manifests are renamed first, so that a half-removed folder is not complete. That of the folder itself is removed
    last, by the next complete run where a tokenizer file stays: with it the folder is still one of packed data. Raises
    `OutputExists`, before anything is removed, for shards that neither names, and for folders in the place of files.
    """
    stale = {folder: _files_of_manifest(folder) | _files_of(folder, shards_of_run)}
    for path in sorted(folder.iterdir()):
        if is_subset(path.name) and path.is_dir() and not path.is_symlink():
            named = _files_of_manifest(path)
            if named or not any(path.iterdir()):
                stale[path] = named | {VOCAB, TOKENIZER}
    for path, names in stale.items():
        _refuse_unknown_shards(path, names)
        _refuse_folders(path, names)
    for path in stale:
        if (path / MANIFEST).exists():
            (path / MANIFEST).replace(path / REMOVED)
    for path, names in reversed(stale.items()):
        for name in sorted(names):
            (path / name).unlink(missing_ok=True)
        if path != folder:
            (path / REMOVED).unlink(missing_ok=True)
            with suppress(OSError):
                # Other files stay, and the folder with them.
                path.rmdir()
    if not any((folder / name).exists() for name in (VOCAB, TOKENIZER)):
        (folder / REMOVED).unlink(missing_ok=True)
    (folder / PLAN).unlink(missing_ok=True)
    if (folder / JOURNAL).exists():
        os.truncate(folder / JOURNAL, 0)


def _refuse_folders(folder: Path, names: Collection[str]) -> None:
    """Raises `OutputExists` for a folder in the place of a file that is removed or written: its content is unknown."""
    places = [folder / name for name in (*sorted(names), *sorted(_FORMAT_FILES), REMOVED)]
    found = next((place for place in places if place.is_dir() and not place.is_symlink()), None)
    if found is not None:
        raise OutputExists(
            f"{str(found)!r} is a folder, in the place of a file of the packed data",
            where=f"{folder}; nothing was removed",
            fix=(f"mv {shlex.quote(str(found))} elsewhere; or name another ", Setting("output")),
            path=str(found),
        )


def _files_of_manifest(folder: Path) -> set[str]:
    """The files of shards that a manifest names, also one that a killed removal left; none where it is damaged.

    Raises `Unreadable` where the disk does not give it: its files would stay beside new ones.
    """
    found: set[str] = set()
    for name in (MANIFEST, REMOVED):
        try:
            entries = read_manifest(folder, name)["shards"]
        except SlmtokError as error:
            if isinstance(cause := error.__cause__, OSError):
                raise Unreadable(
                    f"cannot read {str(folder / name)!r}: {cause.strerror or cause}",
                    where=str(folder / name),
                    fix="make the file readable, and run the same command again",
                    path=str(folder / name),
                    os_error=cause.errno,
                ) from None
            continue
        found |= {f"{entry['name']}.{suffix}" for entry in entries for suffix in entry["sha256"]}
    return found


def _files_of(folder: Path, shards: Collection[str]) -> set[str]:
    """The files of these shards that are in a folder, finished or not."""
    names = map(_name, folder.iterdir())
    return {name for name in names if is_shard_file(name) and name.partition(".")[0] in shards}


def shards_of_run(folder: Path, journal: Journal) -> set[str]:
    """The shards of an unfinished run: those that its journal names, and the next one of each split."""
    if not (folder / PLAN).exists():
        return set()
    names = journal.shard_names()
    return names | {shard_name(split, sum(name.startswith(split) for name in names)) for split in SPLITS}


def refuse_held(folder: Path, journal: Journal) -> None:
    """Raises `OutputExists` where another process packs into the folder."""
    if journal.held:
        raise OutputExists(
            f"{str(folder)!r} is being packed by another process",
            where=str(folder / JOURNAL),
            fix=("wait for it, or name another ", Setting("output")),
            path=str(folder),
        )


def remove_run(folder: Path) -> None:
    """Removes the files of a run, finished or not, as `wipe`, and its journal.

    Raises `OutputExists` for a run of another process.
    """
    journal = Journal(folder)
    try:
        refuse_held(folder, journal)
        wipe(folder, shards_of_run(folder, journal))
        journal.remove()
    finally:
        journal.close()


def _name(path: Path) -> str:
    return path.name


def _refuse_unknown_shards(folder: Path, known: Collection[str]) -> None:
    """Raises `OutputExists` for shards that are not among `known` files: this package did not write them here."""
    shards = sorted(filter(is_shard_file, map(_name, folder.iterdir())))
    unknown = [name for name in shards if name not in known]
    if not unknown:
        return
    is_damaged = (folder / MANIFEST).exists() and not _files_of_manifest(folder)
    more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
    # A pattern would take shards that are known with the others.
    splits = [f"{split}-*" for split in SPLITS if any(name.startswith(f"{split}-") for name in unknown)]
    removed = map(shlex.quote, unknown) if len(unknown) < len(shards) else splits
    raise OutputExists(
        f"the folder {str(folder)!r} holds {unknown[0]!r}{more}, which no manifest or journal of it names",
        where=f"{folder / MANIFEST} is damaged" if is_damaged else str(folder),
        fix=(
            f"rm {' '.join(f'{shlex.quote(str(folder))}/{name}' for name in removed)}; or name another ",
            Setting("output"),
        ),
        path=str(folder / unknown[0]),
    )


def remove_unfinished(folder: Path, state: State) -> None:
    """Removes the shard behind the last one in the journal, unless the journal says that it is open.

    Raises `OutputExists` for shards that the journal cannot explain.
    """
    known = {shard["name"] for shard in state.shards}
    upcoming = {split: shard_name(split, len(state.closed(split))) for split in SPLITS}
    _refuse_unknown_shards(folder, _files_of(folder, {*known, *upcoming.values()}))
    for name in sorted(_files_of(folder, [upcoming[split] for split in SPLITS if not state.open[split].docs])):
        (folder / name).unlink()


def left_by_removal(folder: Path) -> str:
    """What a folder still holds when a run was removed from it, which may have replaced earlier data."""
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    stay = ", ".join(name for name in names if name in (TOKENIZER, VOCAB))
    return f"the earlier data were removed, {stay} of them stay" if stay else "nothing partial was left"


def replace(path: Path, data: bytes) -> None:
    """Writes a file atomically; it is durable when this returns."""
    try:
        atomic.write(path, data, force=True)
    except (DiskFull, Unreadable) as error:
        if any(map(is_shard_file, map(_name, path.parent.iterdir()))):
            # That of one output says that nothing was left.
            error.where = f"{path.parent}; its shards stay, and no part of {path.name} was left"
        raise
    sync_folder(path.parent)


def explained(error: OSError, folder: Path, state: State, bytes_left: int | None) -> SlmtokError:
    """A failure of the disk as an error with a fix. bytes_left: an estimate of the bytes still to be written."""
    name = str(folder)
    if isinstance(error, SlmtokError):
        return error
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        remedy = atomic.REMEDIES.get(error.errno or 0, "make the folder writable")
        return Unreadable(
            f"cannot write to {name!r}: {error.strerror or error}",
            where=str(error.filename or name),
            fix=f"{remedy}, then run the same command again to resume",
            path=name,
            os_error=error.errno,
        )
    docs = sum(state.totals(split).docs for split in SPLITS)
    lack, remedy = atomic.lack_of_room(folder)
    room = ""
    if lack == atomic.NO_SPACE:
        with suppress(OSError):
            room = f" (free {shutil.disk_usage(folder).free / (1 << 20):,.0f} MiB)"
        remedy = f"free about {bytes_left / (1 << 30):.1f} GiB" if bytes_left else remedy
    return DiskFull(
        f"{lack} while writing shard {len(state.shards)}{room}",
        where=f"{name}; {len(state.shards)} shards are complete, and a partial shard is never read",
        fix=f"{remedy}, then run the same command again; it resumes at document {docs:,}",
        path=name,
        document=docs,
    )
