"""Opens what `data.train` and `data.stages` name: mixtures of text, packed data and passkeys."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from slmmodel.checks import missing_path, similar_name
from slmmodel.cli import reading
from slmmodel.cli.open_by_path import open_validation
from slmmodel.cli.passkey_text import passkeys
from slmmodel.cli.text import Text, is_text, other_tokenizer
from slmmodel.cli.text_source import Corpus, TextStream
from slmmodel.config import RunConfig
from slmmodel.data import RunData, open_source
from slmmodel.data.block_cache import CachedStream
from slmmodel.data.mixture import Component, DocumentStream, Mixture, PackedStream
from slmmodel.data.opening import StageData, refuse_split
from slmmodel.data.source import TokenSource, pack_again
from slmmodel.data_config import DataConfig, DataSource
from slmmodel.errors import InvalidConfig, MissingInput
from slmmodel.torchrun import is_main
from slmtok.cli.progress import Progress
from slmtok.options import ReadOptions
from slmtok.shards.plan import stamp


def open_mixture(data: DataConfig, tokenizer: str | Path | bytes | None, read: ReadOptions) -> RunData:
    """The mixtures of a run, without passkeys. `tokenizer` None is that of the packed data among the sources.

    Raises what opening and reading raise, `MissingInput` without a tokenizer, `InvalidConfig` for keys of a source.
    """
    by_stage = data.by_stage()
    if tokenizer is None:
        beside = (Path(each.path) / "tok.json" for each in by_stage[0].sources if each.path and not is_text(each.path))
        tokenizer = next(filter(Path.is_file, beside), None)
    if tokenizer is None:
        paths = [source.path for source in by_stage[0].sources if source.path]
        for path in paths:
            if not is_text(path) and not Path(path).exists():
                raise missing_path(
                    path, similar_name(path) or "check the name; paths are relative to the working folder"
                )
        fact = f"there is no tokenizer for {paths[0]!r}" if paths else "data.stages without data.train"
        raise MissingInput(fact, where="data.train", fix="-t TOK, or data.tokenizer")
    opened = _Opened(Text(tokenizer), read, data)
    mixtures = [Mixture(opened.components(stage.sources)) for stage in by_stage]
    changes = len(by_stage) > 1 or by_stage[0].seq_len is not None
    stages = [StageData(stage.from_step, mix, stage.seq_len) for stage, mix in zip(by_stage, mixtures, strict=True)]
    val: TokenSource | None = None
    if data.val == "auto" and opened.val:
        val = Mixture(opened.val, "val", repeats=False)
    elif data.val not in ("auto", "none"):
        refuse_split(data.val, "")
        val = open_validation(data.val, opened.vocab, opened.text, read)
    name = ", ".join(source.path for source in by_stage[0].sources if source.path)
    content = opened.text.tokenizer.to_bytes()
    return RunData(mixtures[0], val, opened.vocab, content, opened.vocab_json, name, tuple(stages) if changes else ())


def with_passkeys(data: RunData, config: RunConfig) -> RunData:
    """The data with the passkeys of each stage. Raises `InvalidConfig` where a task does not fit into a sequence."""
    by_stage = config.data.by_stage()

    def mixed(number: int, source: TokenSource) -> TokenSource:
        given = next((each for each in by_stage[number].sources if each.passkey), None)
        if given is None:
            return source
        assert isinstance(source, Mixture) and data.tokenizer is not None
        stage, text = by_stage[number], Text(data.tokenizer, data.vocab)
        seq_len, from_step = stage.seq_len or config.seq_len, stage.from_step if stage.seq_len else None
        seed = f"{config.run.seed}/{number}" if number else str(config.run.seed)
        return source.with_generated(passkeys(text, given, seq_len, seed, source.delimiters, from_step))

    stages = tuple(stage._replace(source=mixed(number, stage.source)) for number, stage in enumerate(data.stages))
    return replace(data, train=stages[0].source if stages else mixed(0, data.train), stages=stages)


class _Opened:
    """Streams by source, each opened once; `val` collects those of validation documents."""

    def __init__(self, text: Text, read: ReadOptions, data: DataConfig) -> None:
        self.text, self._read, self._split = text, read, "auto" if data.val == "auto" else "none"
        self._cache, self._limit, self._has_noted = data.cache, data.cache_limit, False
        self.vocab_json, self.vocab = text.metadata()
        self.val: list[Component] = []
        self._streams: dict[str, DocumentStream] = {}

    def components(self, sources: tuple[DataSource, ...]) -> list[Component]:
        """The components of a mixture. Raises what opening raises."""
        return [Component(self._stream(source), source.name, source.weight) for source in sources if source.path]

    def _stream(self, source: DataSource) -> DocumentStream:
        key = repr((source.path, source.model_extra))
        if key not in self._streams:
            open_one = self._open_text if is_text(source.path) or not Path(source.path).exists() else self._open_packed
            train, val = open_one(source)
            self._streams[key] = train
            self.val += [] if val is None else [Component(val, source.name)]
        return self._streams[key]

    def _open_text(self, source: DataSource) -> tuple[DocumentStream, DocumentStream | None]:
        read = reading.of_source(self._read, source.model_extra or {}, source.path)
        corpus = Corpus(self.text, [source.path], read)
        rule = corpus.split(self._split)
        train, val = (TextStream(corpus, self.vocab, split, rule) for split in ("train", "val"))
        kept: DocumentStream = train
        if self._cache and not corpus.in_memory:
            # The digest of a stream knows the edges of files alone; the stamp their times of change.
            key = train.digest + stamp(corpus.sources)
            kept = CachedStream(train, Path(self._cache), self._limit, key, self._note)
        return kept, None if self._split == "none" else val

    def _open_packed(self, source: DataSource) -> tuple[DocumentStream, DocumentStream | None]:
        if source.model_extra:
            reading.check_keys(source.model_extra, source.path)
            name = next(iter(source.model_extra))
            raise InvalidConfig(
                f"data.train: {name} says how text is read, and {source.path!r} is packed data",
                fix="leave it out",
                option="data.train",
            )
        packed = open_source(source.path, "train")
        if packed.vocab.fingerprint != self.text.tokenizer.fingerprint:
            again = pack_again(packed, self.text.name or "TOK")
            fix = f"pack its text with the tokenizer of the other sources: {again}"
            raise other_tokenizer(self.text, packed.vocab, source.path, fix)
        try:
            val = None if self._split == "none" else PackedStream(open_source(source.path, "val"))
        except MissingInput:
            val = None
        return PackedStream(packed), val

    def _note(self, text: str) -> None:
        """A remark on the cache, once for all streams; they are also read in threads of their own."""
        if is_main() and not self._has_noted:
            self._has_noted = True
            with Progress() as progress:
                progress.line(f"note: {text}")
