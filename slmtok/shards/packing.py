"""`pack`: a corpus and a tokenizer to a folder of token shards, or of files in another layout, with subsets.

Another layout is made in two steps: resumable shards in the hidden folder `.packing` of the output, then the files of
the layout from them. `meta.json` comes last and marks a complete folder; then the shards are removed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from slmtok import atomic
from slmtok.calls import Expression, argument_text, call_text, explains_calls, pack_each, pack_meant
from slmtok.checks import are_ids, check_output_name, check_path, refuse_home, refuse_table
from slmtok.corpus import Sources, find
from slmtok.corpus.content_notes import content_notes
from slmtok.corpus.contents import refuse_counts
from slmtok.corpus.kept_bytes import kept_bytes_note
from slmtok.corpus.reading import check_given_key
from slmtok.corpus.text_keys import explain_keys
from slmtok.errors import MissingInput, OptionError, OutputExists, Setting, SlmtokError, WrongType
from slmtok.files import mention_texts
from slmtok.foreign_options import OUTPUTS
from slmtok.indexing import explains_indexing
from slmtok.options import PackOptions, build_options, documents_options
from slmtok.path_arguments import folder_meant, free_name, glob_matches, is_glob
from slmtok.shards import folder
from slmtok.shards.format import FRAMES, MANIFEST, PLAN, TOKENIZER, VOCAB, read_manifest, vocabulary_metadata
from slmtok.shards.layouts import LAYOUTS, Layout, require_u16, require_validation
from slmtok.shards.notes import warn_of_packed
from slmtok.shards.plan import refuse_pipes
from slmtok.shards.reader import Shards
from slmtok.shards.run import pack_shards
from slmtok.shards.subset import subset_folder, write_subsets
from slmtok.shards.token_files import META, make_meta, read_meta
from slmtok.tokenizer import Tokenizer, check_tokenizer, refuse_swapped

if TYPE_CHECKING:
    from slmtok.shards.run import OnProgress, RemoteEncoder

WORK_FOLDER = ".packing"
_PATHS = "a path, or a list of paths"
_IN_MEMORY = "; or tok.encode_batch(texts) for ids in memory"
_OF_OTHER_FILES = ("separator", "document", "format", "encoding", "text_key", "text_template")
"""Options that do not fit the file of records into which a fix writes texts."""


@explains_indexing
@dataclass(frozen=True)
class Packed:
    """The result: the folder, the names of its files, the manifest of the shards, and the folders of subsets."""

    out: Path
    layout: str
    files: list[str]
    manifest: dict[str, Any]
    subsets: dict[int, str] = field(default_factory=dict)


@explains_calls
@documents_options(PackOptions)
def pack(
    corpus: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    tokenizer: Tokenizer,
    out: str | os.PathLike[str],
    options: PackOptions | None = None,
    *,
    force: bool = False,
    on_progress: OnProgress | None = None,
    remote: RemoteEncoder | None = None,
    **keywords: Any,
) -> Packed:
    """Packs a corpus into the folder `out`, or resumes an unfinished run of the same plan.

    Options are `options`, the keywords below, or the first changed by the second. force: replaces what an earlier run
    left. on_progress: called with the state of the run after each batch. remote: encodes on other machines, see
    `slmtok.cluster`.

    Raises `OptionError`, `MissingInput`, `MalformedRecord`, `OutputExists`, `PlanMismatch`, `CorpusTooSmall`,
    `DiskFull`, `WrongType`. Warns of a rule `val` that leaves train or val without documents, of a `separator` that
    occurs nowhere, of bytes that are not UTF-8, of records left out and of `domains` without a file.
    """
    given, options = options, _checked_options(corpus, tokenizer, out, options, keywords, force=force)
    _refuse_exchanged(corpus, out, given, keywords | ({"force": True} if force else {}))
    out, layout = Path(check_path(out)), LAYOUTS[options.output_format]
    check_output_name(os.fspath(out))
    _check_folder_name(os.fspath(out))
    check_given_key(corpus, options, keywords)
    sources = _find(corpus, options, lambda texts: _call_of_texts(texts, out, given, keywords, force=force))
    # Before the work, not after it.
    _check_inference(options, tokenizer, _checked_remote(remote))
    if layout.u16_only:
        require_u16(cast("int", vocabulary_metadata(tokenizer)["n_vocab"]), layout.name)
    if layout.needs_validation:
        require_validation(options.val != "none", layout.name)
    _claim(out, layout, tokenizer, force=force)
    kept, of_files = kept_bytes_note(sources, options), content_notes(sources, options)
    work = out if layout.files is None else out / WORK_FOLDER
    try:
        shards = pack_shards(
            sources,
            tokenizer,
            work,
            _shard_options(options, layout),
            force=force,
            reuse=layout.files is not None or _lacks_subsets(out, options),
            on_progress=on_progress,
            remote=remote,
        )
    except SlmtokError as error:
        for made in (work, out):
            with suppress(OSError):
                # An empty one alone is removed.
                made.rmdir()
        explain_keys(error, sources, options)
        raise
    packed = _packed(shards, out, layout, tokenizer, options)  # a program may make the warnings below errors
    warn_of_packed(shards.manifest, out, [*of_files, kept] if kept else of_files, force=force)
    return packed


def _packed(shards: Shards, out: Path, layout: Layout, tokenizer: Tokenizer, options: PackOptions) -> Packed:
    """The result, with the files of its layout or its subsets."""
    if layout.files is not None:
        return Packed(out, layout.name, _publish_or_remove(shards, out, layout, options), shards.manifest)
    files = [f"{entry['name']}.bin" for entry in shards.manifest["shards"]]
    return Packed(out, layout.name, files, shards.manifest, write_subsets(shards, tokenizer, options.subset))


def _check_folder_name(out: str) -> None:
    """Raises `OptionError` for a folder in `~/`, and for a new one with the name of a file."""
    refuse_home(out)
    if folder_name := folder_meant(out):
        raise OptionError(
            f"out {out!r} is the name of a file, and a folder is written",
            limit="a folder, in which the files have names of their own",
            fix=f"out={folder_name!r}",
            option="out",
        )


def _checked_options(
    corpus: Any, tokenizer: object, out: object, options: PackOptions | None, keywords: dict[str, Any], *, force: bool
) -> PackOptions:
    """The options of a call. Raises `OptionError`, and `WrongType` for other arguments.

    A file that `val` names is to be in the corpus too: the fix is that call.
    """
    written = keywords | ({"force": True} if force else {})
    try:
        _check_tokenizer(corpus, tokenizer, out, written, options)
        if _holds_ids(corpus):
            fix = call_text("slmtok.pack", ["CORPUS", Expression("tok"), out], written, options)
            fact = f"corpus holds ids ({type(corpus).__name__}), and pack encodes the text of files"
            raise WrongType(fact, limit=_PATHS, fix=fix, option="corpus")
        if not isinstance(corpus, (str, os.PathLike, list, tuple)):
            refuse_table(corpus, lambda texts: _call_of_texts(Expression(texts), out, options, keywords, force=force))
            fix = _call_of_texts(corpus, out, options, keywords, force=force) + _IN_MEMORY
            raise WrongType(f"corpus is {type(corpus).__name__}, not paths", limit=_PATHS, fix=fix, option="corpus")
        paths = [*corpus] if isinstance(corpus, (list, tuple)) else []
        if wrong := [each for each in paths if not isinstance(each, (str, os.PathLike))]:
            fact = f"corpus path {paths.index(wrong[0]) + 1} is {type(wrong[0]).__name__}, not str or Path"
            raise WrongType(fact, fix=_paths_meant(paths, out, options, keywords, force=force), option="corpus")
        return build_options(PackOptions, options, keywords)
    except OptionError as error:
        path = error.fields.get("validation_file")
        if isinstance(path, str) and os.path.exists(path):  # noqa: PTH110
            files = [*(corpus if isinstance(corpus, (list, tuple)) else [corpus]), path]
            changed = {**written, "out": out, "val": f"files:{path}"}
            error.fix = pack_meant([files, tokenizer], changed, options) or error.parts["fix"]
        raise


def _refuse_exchanged(corpus: object, out: object, options: PackOptions | None, keywords: dict[str, Any]) -> None:
    """Raises `WrongType` for a corpus that does not exist and an output that is a text: each has the other's place."""
    if not (isinstance(corpus, (str, os.PathLike)) and isinstance(out, (str, os.PathLike))):
        return
    text, folder_name = os.fspath(out), os.fspath(corpus)
    is_text = os.path.isfile(text) or bool(glob_matches(text))  # noqa: PTH113  (false for any text)
    is_new = not (os.path.lexists(folder_name) or is_glob(folder_name) or _NO_FOLDER.match(folder_name))
    if is_text and is_new and not folder_meant(folder_name):
        raise WrongType(
            f"corpus and out are exchanged: {folder_name!r} does not exist, and {text!r} is a text",
            limit="slmtok.pack(corpus, tokenizer, out)",
            fix=call_text("slmtok.pack", [text, Expression("tok"), folder_name], keywords, options),
        )


_NO_FOLDER = re.compile(r"-?$|hf:|\w+://|.*\s")
"""A corpus that is no path of a folder: stdin, a data set, an address or a text."""


def _holds_ids(corpus: object) -> bool:
    """Whether what stands in the place of paths is ids, or rows of them."""
    rows = corpus.tolist() if hasattr(corpus, "tolist") else corpus
    is_of_rows = isinstance(rows, (list, tuple)) and len(rows) > 0 and are_ids(rows[0])
    return is_of_rows or are_ids(rows) or type(corpus).__name__ == "Ragged"


def _check_tokenizer(corpus: object, tokenizer: object, out: object, keywords: dict[str, Any], options: object) -> None:
    """Raises `WrongType` for anything but a tokenizer, with the call in which each argument has its place."""
    given, kept = [corpus, tokenizer, out], options
    if isinstance(options, (str, os.PathLike, Tokenizer)):
        given, kept = [*given, options], None
    if isinstance(tokenizer, Tokenizer) and kept is options:
        return
    # The call of the fix repeats them.
    of_options = {name: value for name, value in keywords.items() if name not in ("force", *OUTPUTS)}
    build_options(PackOptions, cast("PackOptions | None", kept), of_options)
    limit, fix = "slmtok.pack(corpus, tokenizer, out)", pack_meant(given, keywords, kept)
    for other in (corpus, *given[2:]):
        refuse_swapped(tokenizer, other, limit, fix or "name texts and output by paths")
    if isinstance(tokenizer, (list, tuple)) and tokenizer and all(isinstance(each, Tokenizer) for each in tokenizer):
        each = pack_each(corpus, out, keywords, options)
        limit = "one tokenizer a call; tokenizers is the list that you gave"
        raise WrongType(f"tokenizer is a list of {len(tokenizer)}, not a Tokenizer", limit=limit, fix=each)
    try:
        check_tokenizer(tokenizer)
    except WrongType as error:
        error.fix = fix or error.parts["fix"]
        raise
    if fix:
        raise WrongType("several texts are a list of paths", limit=limit, fix=fix)


def _checked_remote(remote: RemoteEncoder | None) -> RemoteEncoder | None:
    if remote is not None and not callable(remote):
        fact = f"remote must be a function that encodes batches, not {type(remote).__name__}"
        fix = "leave it out; or from slmtok.cluster.tasks import pack_on, then remote=pack_on('auto')"
        raise WrongType(fact, fix=fix, option="remote")
    return remote


def _check_inference(options: PackOptions, tokenizer: Tokenizer, remote: object) -> None:
    """Raises `OptionError` where text cannot be cut in this way."""
    if options.inference == "merges":
        return
    if tokenizer.scheme != "bpe":
        raise OptionError(
            (Setting("inference", options.inference), f" with scheme {tokenizer.scheme}, which has no merges"),
            limit="scheme bpe",
            fix=("leave ", Setting("inference"), " out"),
            option="inference",
        )
    if remote is not None and options.inference != "longest":
        raise OptionError(
            (Setting("inference", options.inference), " on a cluster"),
            limit="dropout is encoded on one machine, which knows what is validation",
            fix="pack without a cluster",
            option="inference",
        )


def _find(corpus: Any, options: PackOptions, call_of: Callable[[object], str]) -> Sources:
    """The sources of a corpus; `call_of` is the call for texts in memory.

    Raises as `slmtok.corpus.find`, and `OptionError` for a counts file.
    """
    refuse_pipes(corpus if isinstance(corpus, (list, tuple)) else [corpus])
    try:
        sources = find(corpus, options)
    except MissingInput as error:
        fix = call_of([corpus] if isinstance(corpus, str) else corpus)
        several = f"{fix}, if they are texts; else check the names{_IN_MEMORY}"
        mention_texts(error, corpus, several, f"{fix}, if it is a text; else check the name")
        raise
    refuse_counts(sources)
    return sources


def _paths_meant(
    paths: Sequence[object], out: object, options: object, keywords: dict[str, Any], *, force: bool
) -> str:
    """The fix for a list in which something is no path: names in bytes, rows of texts, or other values."""
    if all(isinstance(path, (str, bytes, os.PathLike)) for path in paths):
        named = [os.fsdecode(path) for path in paths]  # type: ignore[arg-type]
        return call_text(
            "slmtok.pack", [named, Expression("tok"), out], keywords | ({"force": True} if force else {}), options
        )
    if all(isinstance(path, (list, tuple)) for path in paths):
        texts = Expression("[text for row in rows for text in row]")
        return _call_of_texts(texts, out, options, keywords, force=force)
    wrong = next(path for path in paths if not isinstance(path, (str, os.PathLike)))
    return f"leave {argument_text(wrong, 'it')} out: name files by str or Path"


def _call_of_texts(corpus: object, out: object, options: object, keywords: dict[str, Any], *, force: bool) -> str:
    """The fix for texts in memory: they become records of a file, which the call packs."""
    file = free_name("texts.jsonl")
    texts = str(corpus) if isinstance(corpus, Expression) else "texts"
    if isinstance(corpus, (list, tuple)):
        # One text alone may be too long to repeat.
        texts = argument_text(corpus, "texts" if len(corpus) > 1 else "[text]")
    lines = f"json.dumps({{'text': text}}) + chr(10) for text in {texts}"
    kept = {name: value for name, value in keywords.items() if name not in _OF_OTHER_FILES}
    kept |= {"force": True} if force else {}
    call = call_text("slmtok.pack", [file, Expression("tok"), out], kept, options)
    return f"import json, pathlib; pathlib.Path({file!r}).write_text(''.join({lines})); {call}"


def _shard_options(options: PackOptions, layout: Layout) -> PackOptions:
    """The options of the shards from which the output is made; `bos` and `eos` are set."""
    bos, eos = FRAMES[layout.frame]
    if options.chunk_size and options.max_chunks:
        # One shard that is just large enough for the rows.
        options = replace(options, shard_tokens=options.max_chunks * options.chunk_size, max_chunks=1)
    return replace(
        options,
        output_format="slm",
        chunk_size=None,
        bos=bos if options.bos is None else options.bos,
        eos=eos if options.eos is None else options.eos,
    )


def _lacks_subsets(out: Path, options: PackOptions) -> bool:
    return any(not (subset_folder(out, number) / MANIFEST).exists() for number in options.subset)


def _claim(out: Path, layout: Layout, tokenizer: Tokenizer, *, force: bool) -> None:
    """Removes another layout under `force`, finished or not, and begins one.

    Raises `OutputExists` for a folder of other files, and for an unfinished run of another layout.
    """
    work = out / WORK_FOLDER
    if not (out / META).is_file() and not folder.holds_packing(out) and not work.is_dir():
        folder.refuse_files(out)
    if layout.files is None and folder.holds_packing(work) and not work.is_symlink():
        if not force:
            raise OutputExists(
                f"output {str(out)!r} holds an unfinished run of pack",
                where=str(work),
                limit=("begun with another layout, now ", Setting("output_format", layout.name)),
                fix=(Setting("force", True), " to replace it, or name another ", Setting("output")),
                path=str(out),
            )
        _remove_work(work)
    if force:
        _remove_layout(out)
    elif not work.exists():
        _refuse_complete(out, layout, tokenizer)
    if layout.files is not None:
        _begin(out, layout, force=force)


def _refuse_complete(out: Path, layout: Layout, tokenizer: Tokenizer) -> None:
    """Raises `OutputExists` for complete packed data.

    Where shards are asked for, shards are left to their plan, which says whether this run made them.
    """
    packed: dict[str, Any] = {}
    with suppress(SlmtokError):
        packed = read_meta(out) or ({**read_manifest(out), "layout": "slm"} if (out / MANIFEST).is_file() else packed)
    found = packed.get("layout", layout.name)
    vocabulary = vocabulary_metadata(tokenizer)
    if found != layout.name:
        there = Setting("output_format", found)
        difference = ("packed with ", there, ", now ", Setting("output_format", layout.name))
        raise folder.finished(out, packed, vocabulary, difference, (", with ", there, " as before"))
    if layout.files is not None and (out / META).exists():
        raise folder.finished(out, packed, vocabulary)


def _begin(out: Path, layout: Layout, *, force: bool) -> None:
    """Makes the folder of another layout. Raises `OutputExists` for files that this run has not written."""
    work = out / WORK_FOLDER
    if not force and not work.exists():
        if (out / PLAN).is_file():
            begun, now = Setting("output_format", "slm"), Setting("output_format", layout.name)
            raise OutputExists(
                f"output {str(out)!r} holds an unfinished run of pack",
                where=str(out / PLAN),
                limit=("begun with ", begun, ", now ", now),
                fix=(begun, " continues it; or name another ", Setting("output")),
                path=str(out),
            )
        folder.refuse_files(out)
    folder.make(out)
    folder.make_inner(work)
    if force and folder.holds_packing(out):
        folder.remove_run(out)
        (out / folder.REMOVED).unlink(missing_ok=True)


def _publish_or_remove(shards: Shards, out: Path, layout: Layout, options: PackOptions) -> list[str]:
    """As `_publish`. Ids that fill no row are few and packed again at once: nothing of them stays."""
    try:
        return _publish(shards, out, layout, options)
    except OptionError as error:
        if error.fields["option"] == "chunk_size":
            shards.close()
            _remove_work(shards.folder)
            with suppress(OSError):
                out.rmdir()
        raise


def _publish(shards: Shards, out: Path, layout: Layout, options: PackOptions) -> list[str]:
    """Writes the files of the layout, then moves them to the output folder; meta.json last. Returns their names."""
    assert layout.files is not None
    atomic.remove_stale(shards.folder / "files")
    work = atomic.temporary_path(shards.folder / "files")
    work.mkdir()
    try:
        digests = {name: _write(work / name, blocks) for name, blocks in layout.files(shards, options)}
    except BaseException:
        shutil.rmtree(work)
        raise
    for name in digests:
        (work / name).replace(out / name)
    for name in (VOCAB, TOKENIZER):
        folder.replace(out / name, (shards.folder / name).read_bytes())
    folder.replace(out / META, make_meta(shards, layout.name, digests, options.chunk_size))
    shards.close()
    work.rmdir()
    _remove_work(shards.folder)
    return list(digests)


def _remove_work(work: Path) -> None:
    """Removes the shards from which the files were made."""
    atomic.remove_stale(work / "files")
    folder.remove_run(work)
    for name in (VOCAB, TOKENIZER, folder.REMOVED):
        (work / name).unlink(missing_ok=True)
    with suppress(OSError):
        # Other files stay, and the folder with them.
        work.rmdir()


def _write(path: Path, blocks: Iterable[Any]) -> str:
    """Writes and syncs a file; returns its sha256."""
    digest = hashlib.sha256()
    with path.open("wb") as file:
        for block in blocks:
            digest.update(block)
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()


def _remove_layout(out: Path) -> None:
    """Removes the files of an earlier layout: a loader that takes all files of a pattern would read stale ones."""
    meta = read_meta(out)
    if meta is not None:
        for name in meta["files"]:
            (out / name).unlink(missing_ok=True)
        (out / META).unlink()
