"""The text adapter: text to ids and back by slmtok, for the commands. The library `slmmodel` handles ids only."""

from __future__ import annotations

import codecs
import os
import shlex
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmmodel.checkpoint import RunFolder
from slmmodel.errors import Argument, Fix, InvalidConfig, Mismatch, OptionError, SlmmodelError
from slmmodel.run_entries import TOKENIZER
from slmmodel.vocab import VocabMeta
from slmtok import atomic
from slmtok.file_kinds import MANIFEST, kind_of_file
from slmtok.specials import FIRST_LEARNED

if TYPE_CHECKING:
    from slmmodel.data.source import DocumentBlock
    from slmmodel.sampling.automaton import TokenAutomaton
    from slmtok import Tokenizer
    from slmtok.errors import CorpusTooSmall
    from slmtok.options import PackOptions, ReadOptions

STDIN = "-"
MIN_VOCAB_SIZE = 272
"""16 specials and 256 bytes."""


def is_text(path: str) -> bool:
    """Whether a path is a corpus: neither a packed folder nor a file of ids."""
    location = Path(path)
    if location.is_dir():
        ids = [
            "manifest.json",
            *(f"{split}{suffix}" for split in ("train", "val") for suffix in (".bin", ".npy", "-00000.bin")),
        ]
        return not any((location / name).is_file() for name in ids)
    if location.exists():
        return location.suffix not in (".bin", ".npy") and packed_of(path) is None
    return path == STDIN or path.startswith("hf:") or has_magic(path)


def packed_of(path: str) -> str | None:
    """The packed data that a file belongs to, such as their manifest; None for other paths."""
    folder = Path(path).parent
    if kind_of_file(str(folder / "manifest.json")) != MANIFEST:
        return None
    from slmmodel.data.shards import is_file_of_packed

    return str(folder) if is_file_of_packed(Path(path)) else None


class Text:
    """A tokenizer."""

    def __init__(
        self,
        tokenizer: Tokenizer | bytes | str | os.PathLike[str],
        vocab: VocabMeta | None = None,
        owner: str | os.PathLike[str] | None = None,
    ) -> None:
        """A tokenizer, the content of its file, or a file, folder or name.

        Raises `Mismatch` for another `vocab`, which is that of `owner`, a run or packed data.
        """
        import slmtok
        from slmtok.opening import load

        name: str | None = None
        if isinstance(tokenizer, bytes):
            tokenizer = slmtok.Tokenizer.from_bytes(tokenizer)
        elif isinstance(tokenizer, str | os.PathLike):
            name = os.fspath(tokenizer)
            tokenizer = load(name)
        self.tokenizer: Tokenizer = tokenizer
        self.name = name
        """The file, folder or name; None where the tokenizer was given as an object."""
        if vocab is not None and vocab.fingerprint != self.tokenizer.fingerprint:
            raise other_tokenizer(self, vocab, "these ids" if owner is None else os.fspath(owner))

    def metadata(self) -> tuple[bytes, VocabMeta]:
        """The content of the `vocab.json` of the tokenizer, and what it says."""
        from slmtok.shards.format import vocabulary_metadata
        from slmtok.vocab_json import render_metadata

        content = render_metadata(vocabulary_metadata(self.tokenizer))
        return content, VocabMeta.parse(content, source="the tokenizer")

    def encode(self, text: str) -> list[int]:
        """The ids of a text without opening and closing specials. The spelling of a special is encoded as text."""
        return [int(id) for id in self.tokenizer.encode(text)]

    def data(self, ids: Iterable[int]) -> bytes:
        """The bytes of these ids; specials, and roles that were appended to a foreign vocabulary, have none."""
        known = self.tokenizer.n_vocab
        return self.tokenizer.decode_bytes([id for id in ids if id < known], skip_special=True)

    def documents(self, block: DocumentBlock) -> Iterator[bytes]:
        """The decoded documents of a block, without their opening and closing specials."""
        for doc, length in enumerate(block.lengths().tolist()):
            yield self.data(block.ids(doc, 1, length - 1).tolist())

    def constraint(self, regex: str, n_vocab: int) -> TokenAutomaton:
        """Of `n_vocab` ids, those that spell texts which a regular expression matches as a whole.

        Raises `InvalidPattern`, `InvalidInput`.
        """
        from slmmodel.sampling.automaton import TokenAutomaton
        from slmtok.patterns import compile_automaton

        return TokenAutomaton(*compile_automaton(regex), [self.data([id]) for id in range(n_vocab)])

    def words(self, ids: Iterable[Any]) -> list[str]:
        """Each id as one printable word: spaces, line ends and incomplete characters are escaped."""
        from slmtok.token_text import escape_token

        tokenizer, known = self.tokenizer, self.tokenizer.n_vocab
        return [escape_token(tokenizer.token_bytes(id)) if id < known else f"<{id}>" for id in map(int, ids)]


def other_tokenizer(text: Text, vocab: VocabMeta, owner: str, fix: Fix | None = None) -> Mismatch:
    """The error for a tokenizer that is not the one of the run or data `owner`, whose vocabulary is `vocab`."""
    name, own = text.name, Path(owner) / TOKENIZER
    shown = name or "the tokenizer"
    if fix is None and own.is_file() and own != Path(name or ""):
        fix = ("leave out ", Argument("tokenizer", name) if name else Argument("tokenizer"), f": {owner} has its own")
        if (Path(owner) / "manifest.json").is_file():
            fix = (*fix, f"; to use {name or 'it'}, pack the text with it: {packed_again(owner, name or 'TOK')}")
    if fix is None and (found := tokenizer_of_data(owner, vocab)):
        fix = (Argument("tokenizer", found),)
    return Mismatch(
        f"{shown} is not {'the tokenizer' if name else 'that'} of {owner}",
        where=name,
        limit=f"{shown} has the fingerprint {text.tokenizer.fingerprint[:16]}…, {owner} {vocab.fingerprint[:16]}…",
        fix=fix or f"name the tokenizer of {owner}: slmtok info TOK prints the fingerprint of a file",
    )


def tokenizer_of_data(run: str | Path, vocab: VocabMeta) -> str | None:
    """The tokenizer file in the packed data of a run, where it is that of the run; None without one."""
    try:
        folder = Path(str(RunFolder(Path(run)).config["data"]["train"]))
        file = folder / TOKENIZER
        is_own = file.is_file() and VocabMeta.load(folder / "vocab.json").fingerprint == vocab.fingerprint
    except (SlmmodelError, OSError):
        return None
    return os.path.relpath(file) if is_own else None


def packed_again(data: str, tokenizer: str) -> str:
    """The command that packs the text of packed data with another tokenizer; it fetches a rank file that is absent."""
    from slmmodel.data.opening import open_source
    from slmmodel.data.source import pack_again
    from slmtok.formats.tiktoken import ENCODINGS, fetching, missing_ranks
    from slmtok.model_encodings import encoding_meant

    try:
        line = pack_again(open_source(data, "train"), tokenizer)
    except SlmmodelError:
        line = f"slmtok pack CORPUS -t {shlex.quote(tokenizer)} -o NEW"
    encoding = tokenizer if tokenizer in ENCODINGS else encoding_meant(tokenizer)
    if encoding is None or os.path.exists(tokenizer):  # noqa: PTH110  (a name of any length is fine)
        return line
    missing = missing_ranks(encoding)
    return f"{fetching(encoding)} && {line}  # {missing.parts['fact']}" if missing else line


class TextDecoder:
    """Bytes of generated ids to text: only complete characters, and nothing after a stop string.

    It holds back bytes that may become a character (at most three) or a stop string. Ill-formed bytes become U+FFFD.
    All parts joined are equal to decoding all bytes at once.
    """

    def __init__(self, stops: Sequence[str] = ()) -> None:
        self._stops = [stop.encode() for stop in stops if stop]
        self._max_held = max(map(len, self._stops), default=1) - 1
        self._held = b""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.stopped = False

    def push(self, data: bytes) -> str:
        """The text that is certain after these bytes."""
        if self.stopped:
            return ""
        held = self._held + data
        found = [at for at in (held.find(stop) for stop in self._stops) if at >= 0]
        if found:
            self.stopped, self._held = True, b""
            return self._decoder.decode(held[: min(found)], final=True)
        certain = max(0, len(held) - self._max_held)
        self._held = held[certain:]
        return self._decoder.decode(held[:certain])

    def finish(self) -> str:
        """The held text, when no more bytes follow."""
        rest, self._held = self._held, b""
        return "" if self.stopped else self._decoder.decode(rest, final=True)


def prepare(
    corpus: str, folder: Path, *, vocab: int, read: ReadOptions, force: bool = False, tokenizer: str | None = None
) -> None:
    """Packs a corpus into `folder`, with `tokenizer`, or one of `vocab` ids trained on the training split only.

    A call that was killed is continued; `force` begins again. Raises what reading, training and packing raise.
    """
    import slmtok
    from slmtok.errors import CorpusTooSmall
    from slmtok.options import PackOptions
    from slmtok.shards import pack
    from slmtok.shards.format import JOURNAL, PLAN

    is_whole = (folder / "manifest.json").exists() and not any((folder / name).exists() for name in (PLAN, JOURNAL))
    if is_whole and not force:
        return
    options = PackOptions(**vars(read))
    if tokenizer is not None:
        packed = pack(corpus, slmtok.load(tokenizer), folder, options, force=force)
        try:
            _require_splits(packed.manifest, corpus)
        except InvalidConfig:
            shutil.rmtree(folder)
            raise
        return
    with training_documents(corpus, folder, options) as documents:
        try:
            trained = slmtok.train(slmtok.Texts(documents()), vocab_size=vocab)
        except CorpusTooSmall as error:
            raise too_small(error, vocab, corpus, sum(map(len, documents()))) from None
    pack(corpus, trained, folder, options, force=force)


def too_small(error: CorpusTooSmall, vocab: int, corpus: str, size: int, flag: str = "--vocab") -> OptionError:
    """The error for training text of `size` bytes that supports fewer ids than `flag` asks for."""
    supported = error.fields.get("supported", FIRST_LEARNED)
    if not size:
        return OptionError(
            "the training text is empty",
            where=f"{corpus!r}: {size:,} bytes of training text, and the rest is validation text",
            fix="a longer text",
            option="vocab",
        )
    return OptionError(
        f"the text supports {supported:,} ids, and {flag} is {vocab:,}",
        where=f"{corpus!r}: {size:,} bytes of training text",
        limit="each id must occur in the training text",
        fix=f"{'sizes up to' if flag == '--vocabs' else flag} {supported}, or a longer text",
        option="vocab",
    )


@contextmanager
def training_documents(
    corpus: str | list[str], folder: Path, options: PackOptions
) -> Iterator[Callable[[], Iterator[bytes]]]:
    """Gives a function that reads the documents of the training split of a corpus, before it is packed into `folder`.

    The split does not depend on the tokenizer, so the corpus is packed as bytes, beside `folder`, to find it.
    """
    import slmtok
    from slmtok.shards import open_shards, pack

    plain = slmtok.train(slmtok.Texts([b"bytes"]), scheme="byte", vocab_size=MIN_VOCAB_SIZE)
    # Beside the data, where a later call finds what a killed one left.
    work = folder.with_name(f".{folder.name}-bytes")
    atomic.remove_stale(work)
    place = atomic.temporary_path(work)
    try:
        pack(corpus, plain, place, options)
        split = open_shards(place)
        _require_splits(split.manifest, corpus)

        def documents() -> Iterator[bytes]:
            for index in range(split.n_docs("train")):
                yield plain.decode_bytes(split.document(index, "train")[1:-1])

        yield documents
        split.close()
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _require_splits(manifest: dict[str, Any], corpus: str | list[str]) -> None:
    """Raises `InvalidConfig` for packed data without training or validation documents."""
    for split, purpose in (("train", "training"), ("val", "validation")):
        if split not in manifest["splits"]:
            names = [corpus] if isinstance(corpus, str) else corpus
            raise no_document(", ".join(map(repr, names)), purpose, manifest)


def no_document(where: str, purpose: str, manifest: dict[str, Any], more: str = "") -> InvalidConfig:
    """The error for a text of which no document is left for training or validation; `more` ends the fix."""
    from slmtok.cli.output import flag_naming
    from slmtok.errors import render
    from slmtok.shards.notes import tail_left_out

    if left_out := tail_left_out(manifest):
        limit, fix = (render(part, flag_naming) for part in left_out)
        return InvalidConfig(f"no document is left for {purpose}", where=where, limit=limit, fix=fix)
    limit = "documents are chosen by the hash of their text, so equal ones together"
    fix = f"a text with more different documents{more}"
    return InvalidConfig(f"no document is left for {purpose}", where=where, limit=limit, fix=fix)
