"""`load` and `train`: a model in Python, text in and text out. An application of slmtok and slmmodel."""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from inspect import signature
from opcode import opmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from slmmodel.calls import (
    NamesConstructors,
    explains_calls,
    explains_settings,
    is_literal,
    tokenizer_argument,
    written_keywords,
)
from slmmodel.checks import (
    are_ids,
    call_of_rows,
    check_bool,
    check_path,
    check_working_folder,
    int_meant,
    naming_split,
    path_of,
)
from slmmodel.decoding_options import (
    MAX_NEW_TOKENS,
    SamplingOptions,
    check_options,
    for_each,
    opening_ids,
    refuse_stream,
    repeats_options,
)
from slmmodel.errors import (
    MAX_SHOWN,
    InvalidInput,
    MissingInput,
    OptionError,
    WrongType,
    with_import,
    with_import_explained,
)
from slmmodel.foreign_names import READ_OPTIONS
from slmmodel.indexing import explains_indexing
from slmmodel.notebook import html_table
from slmmodel.torchrun import is_main

if TYPE_CHECKING:
    from slmmodel.checkpoint import RunFolder
    from slmmodel.cli.text import Text
    from slmmodel.cli.text_source import Corpus
    from slmmodel.data import RunData
    from slmmodel.data.source import TokenSource
    from slmmodel.evaluation.scoring import Scores
    from slmmodel.run import Run
    from slmtok import Texts, Tokenizer
    from slmtok.errors import Setting
    from slmtok.options import ReadOptions

    Data: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | Texts
    """A path or several, of packed data or text; or texts in memory, as `slmtok.Texts(list)`."""


@explains_indexing
@partial(explains_calls, options=SamplingOptions)
@dataclass(frozen=True)
class TextRun(metaclass=NamesConstructors):
    """A run with its tokenizer."""

    run: Run
    """The same model, for ids."""
    text: Text

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the run."""
        return self.text.tokenizer

    @property
    def result(self) -> dict[str, Any]:
        """Totals of a finished run, as `Run.result`."""
        return self.run.result

    @property
    def _opened(self) -> str:
        """The call that opens this run, in a fix: the variable `run` may be a run of ids."""
        return f"slmmodel.app.load({os.fspath(self.run.path)!r})"

    def __repr__(self) -> str:
        return f"Text{self.run!r}"

    def _repr_html_(self) -> str:
        return self.run._repr_html_() + self.tokenizer._repr_html_()

    def __call__(self, *args: object, **keywords: object) -> None:
        """A run is no function. Raises `WrongType`."""
        fix = "run.generate(prompt), or run.score(text)"
        raise WrongType("a TextRun is not callable", limit="its module is .run.model", fix=fix)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Raises `AttributeError`; for an attribute of the run of ids or its module it names that."""
            from slmmodel.run import no_attribute

            raise no_attribute(self, name, vars(self).get("run"))

    def generate(
        self,
        prompt: str = "",
        *,
        max_new_tokens: int | None = None,
        assistant: TextRun | Run | None = None,
        choices: Sequence[str] = (),
        regex: str = "",
        **options: Any,
    ) -> str:
        """New text after a prompt. `options` as in `Run.generate`; bytes that are not UTF-8 are replaced.

        choices: texts, one of which is generated (`[" yes", " no"]`). regex: the new text is one that this expression
        matches as a whole, if `max_new_tokens` does not end it before. Raises `slmtok.errors.InvalidPattern`.
        """
        from slmmodel.run import refuse_long

        for name in {"ids", "input_ids"} & options.keys():
            fact = f"generate() of text takes a prompt, not {name}"
            raise WrongType(fact, fix=f"slmmodel.load({os.fspath(self.run.path)!r}).generate(ids)")
        if not isinstance(choices, Iterable):
            fact = f"choices is a list of str, not {type(choices).__name__} {choices!r}"
            raise WrongType(fact, fix=f"choices=[{str(choices)!r}]")
        choices = choices if isinstance(choices, str | list | tuple) else list(choices)
        own = {"max_new_tokens": max_new_tokens, "assistant": assistant, "choices": choices, "regex": regex}
        own["max_new_tokens"] = 256 if max_new_tokens is None else max_new_tokens
        call = {"prompt": prompt, **own}
        refuse_stream(options, call, self._opened, opening_ids(self.run.vocab))
        check_options(options, ("prompt", "assistant", "regex", "overflow"), call, self._opened)
        self._refuse_sequences(options)
        given = {"choices": choices or None, "regex": regex or None, **options}
        meant = None if max_new_tokens is None else int_meant(max_new_tokens, 256, most=MAX_NEW_TOKENS)
        with repeats_options(given) as repeated:
            words = written_keywords(max_new_tokens=meant, assistant=assistant, **repeated)
            ids = self._ids("prompt", prompt, words)
        overflow, n_new = str(options.get("overflow", "stop")), 256 if meant is None else meant
        refuse_long(self.run.model, len(ids), n_new, overflow, self._end_of_prompt)
        if isinstance(choices, str) or not all(isinstance(choice, str) for choice in choices):
            raise self._not_texts(choices)
        if choices and regex:
            raise OptionError("choices and regex together", fix="leave out choices or regex", option="choices")
        options["choices"] = tuple(tuple(self.text.encode(choice)) for choice in choices)
        if regex:
            options["constraint"] = self.text.constraint(regex, self.run.vocab.n_vocab)
        small = assistant.run if isinstance(assistant, TextRun) else assistant
        new = self.run.generate(ids, max_new_tokens=max_new_tokens, assistant=small, **options)
        return self.text.data(new).decode("utf-8", "replace")

    def _refuse_sequences(self, options: Mapping[str, object]) -> None:
        """Raises `OptionError` for a text of several ids in place of one id."""
        for name in {"banned", "stop_ids"} & options.keys():
            given = options[name]
            texts = [given] if isinstance(given, str) else given if isinstance(given, list | tuple | set) else []
            for text in texts:
                if isinstance(text, str) and self.tokenizer.token_to_id(text) is None:
                    cut = f", and cut the new text there: new.partition({text!r})[0]"
                    raise OptionError(
                        f"{name} has {text!r}, which is no token of this run: {len(self.text.encode(text))} ids",
                        limit="each is one id, and no sequence of ids",
                        fix=f"leave {text!r} out" + cut * (name == "stop_ids"),
                        option=name,
                    )

    def _not_texts(self, choices: Sequence[object]) -> WrongType:
        """The error for choices that are no list of texts, with the texts that are meant."""
        if isinstance(choices, str):
            return WrongType("choices is a str, not a list of str", fix=f"choices={[choices]}")
        found: list[Any] = [choice.tolist() if hasattr(choice, "tolist") else choice for choice in choices]
        what = ", ".join(dict.fromkeys(type(choice).__name__ for choice in choices if not isinstance(choice, str)))
        fact, fix = f"choices is a list of str, not of {what}", "choices=[' yes', ' no'], for instance"
        if len(found) == 1 and isinstance(found[0], list | tuple) and all(isinstance(each, str) for each in found[0]):
            fix = f"choices={[*found[0]]}"
        elif all(isinstance(choice, bytes | str) for choice in found):
            fix = f"choices={[each.decode('utf-8', 'replace') if isinstance(each, bytes) else each for each in found]}"
        elif all(type(choice) in (int, float) for choice in found):
            fix = f"choices={[str(choice) for choice in found]}, for the numbers as text"
            fix += f"; for ids choices={self._texts_of([[id] for id in found])}" if self._are_known(found) else ""
        elif all(isinstance(row, list | tuple) and self._are_known(row) for row in found):
            fact, fix = "choices is a list of str, not of rows of ids", f"choices={self._texts_of(found)}"
        return WrongType(fact, fix=fix)

    def _are_known(self, ids: Iterable[object]) -> bool:
        """Whether all are ids of the tokenizer."""
        return all(type(id) is int and 0 <= id < self.tokenizer.n_vocab for id in ids)

    def _texts_of(self, rows: Iterable[Iterable[int]]) -> list[str]:
        """The text of each row of ids."""
        return [self.text.data(row).decode("utf-8", "replace") for row in rows]

    def score(self, text: str) -> float:
        """Bits per byte of a text that fits into the model's seq_len, after the special that opens a document.

        Raises `InvalidInput` for a longer or an empty text, `WrongType`.
        """
        ids = self._ids("text", text)
        if not text:
            raise InvalidInput("the text is empty, so it has no bits per byte", fix="a text of a byte or more")
        if len(ids) > self.run.seq_len:
            raise InvalidInput(
                f"the text has {len(ids):,} ids with the special that opens it",
                limit=f"seq_len {self.run.seq_len}",
                fix=f"{self._opened}.evaluate(slmtok.Texts([text])), which scores texts of any length",
            )
        nats = self.run.score(ids)
        return float(nats.sum() / math.log(2) / len(text.encode()))

    def evaluate(self, data: Data | None = None, split: str | None = None, **scoring: Any) -> Scores:
        """Scores every byte of `data`, of packed data their validation documents: `.bpb_total`, `.bpb_content`.

        data: by default the validation documents of training. scoring: options of `Run.evaluate`; a text has one split.
        """
        if not scoring.keys() <= signature(type(self.run).evaluate).parameters.keys():
            # An unknown option is refused before the documents are read.
            self.run.evaluate(data, split, **scoring)  # type: ignore[arg-type]
        from slmtok.path_arguments import free_name

        def packed(option: Setting) -> str:
            """A text takes no options of reading; packed data were read with them."""
            folder = free_name("data")
            given = f"{data!r}, {self._opened}.tokenizer, {folder!r}, {option.name}={option.value!r}, val='none'"
            return f"slmtok.pack({given}); {self._opened}.evaluate({folder!r})" if option.has_value else option.name

        with _writes_reading(packed), naming_split(data, split):
            return self.run.evaluate(self._documents(data, split), **scoring)

    def _end_of_prompt(self, n_ids: int) -> str:
        """Python for the end of the text `prompt` that takes at most `n_ids` ids, with the special that opens it."""
        # Text that begins within a character may take some ids more when it is encoded again.
        n_kept = max(n_ids - 5, 1)
        return f"run_tok = {self._opened}.tokenizer; run_tok.decode(run_tok.encode_list(prompt)[-{n_kept}:])"

    def _ids(self, name: str, text: str, options: Sequence[str] = ()) -> list[int]:
        """The ids of a text, after the special that opens a document; `options` of the call are those of its fix."""
        from slmtok.calls import warn_of_file_names
        from slmtok.record_texts import short_text

        call = {"prompt": "generate", "text": "score"}[name]
        if isinstance(text, str):
            warn_of_file_names([text], lambda: with_import(self._of_file(call, text, options)))
        else:
            load = f"slmmodel.load({os.fspath(self.run.path)!r})"
            of_ids = f".{call}({', '.join(['each', *options])})"
            values = text.tolist() if hasattr(text, "tolist") else text
            has_rows = (
                isinstance(values, list | tuple) and values and all(isinstance(row, list | tuple) for row in values)
            )
            is_short = isinstance(values, list | tuple) and is_literal(values) and len(str(values)) <= MAX_SHOWN
            ids = str(values) if is_short else "ids"
            of_ids = call_of_rows(of_ids, values, load) if has_rows else load + of_ids.replace("(each", f"({ids}", 1)
            fix = f"{name}='Once upon a time'; for ids: {of_ids}"
            if isinstance(text, list | tuple) and text and all(isinstance(each, str) for each in text):
                texts = short_text(text, "texts")
                fix = for_each(self._opened, f".{call}({', '.join(['text', *options])})", f"text in {texts}")
            if isinstance(text, bytes | bytearray):
                fix = f"{name}={name}.decode(encoding), with the encoding of these bytes, which are not UTF-8"
                with suppress(UnicodeDecodeError):
                    fix = f"{name}={short_text(text.decode(), f'{name}.decode()')}"
            if path := _path_of(text):
                fix = self._of_file(call, path, options)
            raise WrongType(f"{name} must be a str, not {type(text).__name__}", fix=fix)
        return opening_ids(self.run.vocab) + (self.text.encode(text) if text else [])

    def _of_file(self, call: str, path: str, options: Sequence[str]) -> str:
        """The call that takes the text in a file."""
        if call == "score":
            return f"{self._opened}.evaluate({path!r}).bpb_total"
        text = f"open({path!r}, encoding='utf-8').read()"
        return f"{self._opened}.{call}({', '.join([text, *options])})"

    def _documents(self, data: Data | None, split: str | None) -> TokenSource:
        from slmmodel.cli.eval import open_documents
        from slmmodel.cli.text import is_text
        from slmmodel.cli.text_source import NO_VALIDATION, text_source
        from slmmodel.run import refuse_no_path
        from slmtok.record_texts import short_text

        if are_ids(data):
            check_path("data", data, "slmtok.Texts({})")  # raises the error for ids, which need a file
        if isinstance(data, str):
            of_text = f"evaluate(slmtok.Texts({short_text([data], '[text]')}))"
            refuse_no_path(check_path("data", data, "slmtok.Texts({})"), of_text)
        if data is None or (isinstance(data, str | os.PathLike) and not is_text(check_path("data", data))):
            path = None if data is None else os.fspath(data)
            fix = "data='DATA', with their path, or data=slmtok.Texts(texts)"
            return open_documents(self.run.folder, path, split, fix=fix)
        _check_data(data)
        if split is not None:
            other = f", or evaluate(split={split!r}), of the data of the run" if split in ("train", "val") else ""
            raise OptionError(
                f"split={split!r}, and a text is scored whole", fix=f"leave it out{other}", option="split"
            )
        corpus = _corpus(self.text, data, None)
        _warn_of_contents(corpus, _in_texts(corpus.sources))
        return text_source(corpus, self.run.vocab, "train", NO_VALIDATION)


def _path_of(value: object) -> str | None:
    """The path that a `Path` or an open file names; None for other values."""
    path = value if isinstance(value, os.PathLike) else getattr(value, "name", None) if hasattr(value, "read") else None
    return os.fspath(path) if isinstance(path, str | os.PathLike) else None


@explains_indexing
@explains_calls
@dataclass(frozen=True)
class Ablation:
    """What an ablation found, for a notebook."""

    path: str
    """The file of the result."""
    result: dict[str, Any]
    """Its content (docs/formats/ablation.md)."""

    @property
    def verdicts(self) -> list[str]:
        """The sentence about each pair of arms, under each match."""
        return [f"{view['match']}: {pair['verdict']}" for view in self.result["views"] for pair in view["pairs"]]

    def __repr__(self) -> str:
        arms = ", ".join(arm["name"] for arm in self.result["arms"])
        return f"Ablation({self.path!r}, arms {arms}, {len(self.result['seeds'])} seeds)"

    def _repr_html_(self) -> str:
        rows: list[tuple[str, object]] = [("exploratory", "; ".join(self.result["exploratory"]))]
        for view in self.result["views"]:
            for arm in view["arms"]:
                low_high = "" if arm["interval"] is None else " ({:.4f} to {:.4f})".format(*arm["interval"])
                bits = "not finite" if arm["bpb"] is None else f"{arm['bpb']:.4f} bits per byte{low_high}"
                rows.append((f"{arm['name']}, match {view['match']}", bits))
        rows += [("verdict", verdict) for verdict in self.verdicts]
        return html_table(repr(self), [*rows, ("holds for", self.result["scope"])])


@explains_calls
def load_ablation(path: str | os.PathLike[str]) -> Ablation:
    """The result of `slm ablate`, a folder or its file.

    Raises `CorruptFile`, `UnsupportedVersion`, `Unreadable`, and `MissingInput` for one that has not finished.
    """
    from slmmodel.checkpoint import RunFolder
    from slmmodel.cli import ablation_files

    given = Path(check_path("path", path))
    if RunFolder(given).exists():
        raise MissingInput(
            f"{str(given)!r} is a run, not an ablation",
            where=str(given),
            fix="name a folder that slm ablate wrote; slmmodel.app.load(path) opens a run",
        )
    file = str(given / ablation_files.RESULT if given.is_dir() else given)
    return Ablation(file, ablation_files.load_ablation(file))


@explains_calls
def load(
    path: str | os.PathLike[str],
    *,
    tokenizer: Tokenizer | str | os.PathLike[str] | None = None,
    step: int | None = None,
    device: str = "auto",
) -> TextRun:
    """Opens a run with its tokenizer; `tokenizer`, or what `slmtok.load` takes, replaces that of the run.

    Raises what `slmmodel.load` and `slmtok.load` raise, `MissingInput` without a tokenizer, `Mismatch` for another one.
    """
    check_working_folder()
    from slmmodel.run import load as load_run

    run = load_run(path, step=step, device=device)
    return TextRun(run, _tokenizer_of(run.folder, tokenizer))


def _tokenizer_of(run: RunFolder, tokenizer: Tokenizer | str | os.PathLike[str] | None) -> Text:
    from slmmodel.cli.text import Text
    from slmtok import Tokenizer

    file = run.tokenizer if tokenizer is None else tokenizer
    if file is not None and not isinstance(file, Tokenizer):
        file = _check_tokenizer(file)
    if file is None:
        raise MissingInput(
            "the run has no tokenizer", where=str(run.path), fix="tokenizer='tok.json', or slmmodel.load for ids"
        )
    return Text(file, run.vocab, run.path)


def _check_tokenizer(tokenizer: object) -> str:
    """The path of a tokenizer. Raises `WrongType`, for an adapter or one of another library with the way to ours."""
    from slmtok import Tokenizer
    from slmtok.formats.tiktoken import refuse_encoding

    folder = getattr(tokenizer, "name_or_path", None)
    if isinstance(getattr(tokenizer, "tokenizer", None), Tokenizer):
        fix = "tokenizer=tok, the one that as_hf(tok) took"
    elif isinstance(folder, str) and os.path.isdir(folder):  # noqa: PTH112
        fix = f"tokenizer={folder!r}"
    elif hasattr(tokenizer, "save_pretrained"):
        fix = "tokenizer.save_pretrained('tokenizer'), then tokenizer='tokenizer'"
    elif hasattr(tokenizer, "to_str") and hasattr(tokenizer, "save"):
        fix = "tokenizer.save('tokenizer.json'), then tokenizer='tokenizer.json'"
    else:
        refuse_encoding(tokenizer)
        return check_path("tokenizer", tokenizer)
    kind = type(tokenizer).__name__
    raise WrongType(f"tokenizer is of type {kind}", limit="a slmtok.Tokenizer, or a path", fix=fix)


def _setting_names() -> list[str]:
    from slmmodel.config import OPTIONS, model_options

    return [*OPTIONS, *model_options()]


def _preset_lengths() -> dict[str, int]:
    from slmmodel.models.presets import preset_lengths

    return preset_lengths()


def _reading(option: str, value: object) -> Mapping[str, object]:
    """The options of reading that a keyword stands for, which may be misspelt or of another library."""
    from slmtok.errors import Setting, suggestion
    from slmtok.foreign_options import foreign_option

    if meant := suggestion(option, READ_OPTIONS):
        return {meant: value}
    _, fix = foreign_option(option, value, READ_OPTIONS)
    return {each.name: each.value for each in fix or () if isinstance(each, Setting) and each.has_value}


@explains_settings(_setting_names, _preset_lengths, _reading)
def train(
    data: Data,
    *,
    tokenizer: Tokenizer | str | os.PathLike[str] | None = None,
    preset: str | None = None,
    budget: str | None = None,
    output: str | os.PathLike[str] = "run",
    settings: Mapping[str, Any] | None = None,
    reading: Mapping[str, Any] | None = None,
    seed: int | None = None,
    device: str | None = None,
    force: bool = False,
    progress: bool = True,
) -> TextRun:
    """Trains a model on text or packed data and opens the run with its tokenizer.

        story = app.train("stories.txt", tokenizer="tok.json", preset="cpu-demo", budget="tokens=2M")

    data: corpus files, tokenized while they are read, or `slmtok.Texts(list)`, both with `tokenizer`; or packed data,
    which have their own. reading: options of `slmtok.options.ReadOptions`, such as `{"separator": "\\n\\n"}`. progress:
    on stderr, as `slm train` reports it. The other options are those of `slmmodel.train`.

    Raises what `slmmodel.train` and reading the corpus raise.
    """
    from slmmodel.cli.train_progress import TrainProgress

    check_bool("progress", progress)
    check_working_folder()
    # Of the processes that torchrun started, only rank 0 prints.
    quiet = not (progress and is_main())
    with TrainProgress("loading torch", quiet=quiet) as report, _writes_reading(_as_reading(reading)):
        from slmmodel.run import train as train_run

        run = train_run(
            _opened(data, tokenizer, reading, settings),
            preset=preset,
            budget=budget,
            output=output,
            settings=_with_reading(settings, reading),
            seed=seed,
            device=device,
            force=force,
            report=report,
        )
    return TextRun(run, _tokenizer_of(run.folder, None))


def _with_reading(settings: Mapping[str, Any] | None, reading: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Settings with how text is read, as `slm train` records it. `slmmodel.train` refuses settings of another type."""
    if not reading or not (settings is None or isinstance(settings, Mapping)):
        return settings
    from slmmodel.cli.reading import to_record
    from slmtok.options import ReadOptions, build_options

    return {**(settings or {}), "data.read": to_record(build_options(ReadOptions, None, reading))}


def _opened(
    data: Data,
    tokenizer: Tokenizer | str | os.PathLike[str] | None,
    reading: Mapping[str, Any] | None,
    settings: Mapping[str, Any] | None,
) -> RunData | str:
    """What `slmmodel.train` takes: the path of packed data, or an open corpus."""
    from slmmodel.cli.open_by_path import open_corpus
    from slmmodel.cli.text import Text, is_text
    from slmmodel.config import settings_of
    from slmmodel.data import open_source
    from slmmodel.data.opening import refuse_several
    from slmtok import Tokenizer
    from slmtok.calls import warn_caller
    from slmtok.corpus.notes import uncut_note
    from slmtok.errors import render
    from slmtok.file_kinds import is_run

    refuse_several(data)
    if are_ids(data):
        check_path("data", data, "slmtok.Texts({})")  # raises the error for ids, which need a file
    if reading is not None and not isinstance(reading, Mapping):
        is_separator = isinstance(reading, str) and not re.search(r"\w", reading)
        fix = f"reading={ {'separator': reading} }" if is_separator else "reading={NAME: VALUE}, options by their names"
        limit = f"options: {', '.join(READ_OPTIONS)}"
        raise WrongType(f"reading is a {type(reading).__name__}, not a mapping", limit=limit, fix=fix)
    if isinstance(data, Tokenizer):
        corpus = repr(os.fspath(tokenizer)) if isinstance(tokenizer, str | os.PathLike) else "PATH"
        raise WrongType("data is a Tokenizer, not text or packed data", fix=f"data={corpus}, tokenizer=tok")
    _check_data(data)
    if tokenizer is not None and not isinstance(tokenizer, Tokenizer):
        tokenizer = _check_tokenizer(tokenizer)
    if isinstance(data, str | os.PathLike) and not is_text(path := check_path("data", data, "slmtok.Texts({})")):
        if reading and Path(path).exists():
            fact = f"reading says how text is read, and {path!r} is packed"
            raise OptionError(fact, limit="files of text", fix="leave reading out", option="reading")
        if tokenizer is None:
            return path
        if Path(path).exists():
            Text(tokenizer, open_source(path).vocab, path)  # raises `Mismatch` for another one
            return path
    if isinstance(data, str | os.PathLike) and is_run(os.fspath(data)):
        name = os.fspath(data)
        raise MissingInput(f"{name!r} is a run, not text or packed data", fix="name what to train on", path=name)
    if tokenizer is None:
        corpus = repr(os.fspath(data)) if isinstance(data, str | os.PathLike) else "data"
        fix = f"tokenizer={tokenizer_argument(corpus)}"
        raise MissingInput("text needs a tokenizer", where="tokenizer is None", fix=fix)
    val = settings_of(settings if isinstance(settings, Mapping) else {}).get("data.val")
    texts = _corpus(Text(tokenizer), data, reading)
    opened = open_corpus(texts, "auto" if val is None else str(val.value))
    if texts.is_uncut:
        warn_caller(render(uncut_note(texts.options.separator or "")))
    _warn_of_contents(texts, _as_reading(reading))
    return opened


def _check_data(data: object) -> None:
    """Raises `WrongType` for what is no path, list of paths or `Texts`; the fix has the path of an open object."""
    from slmtok import Texts
    from slmtok.file_kinds import is_run
    from slmtok.record_texts import texts_in

    if isinstance(data, str | os.PathLike | Texts):
        return
    fact, fix, records = f"data is of type {type(data).__name__}", "data=PATH", None
    if hasattr(data, "read"):
        path = _path_of(data)
        fact, fix = "data is an open file", f"{path!r}, its name" if path else "slmtok.Texts([file.read()])"
    elif (path := None if isinstance(data, list | tuple) else path_of(data)) is not None:
        fix = "name what to train on; slm resume continues a run" if is_run(path) else f"data={path!r}"
    elif (records := texts_in(data)) or isinstance(data, Iterable):
        fact += " with records" * isinstance(data, list | tuple)
        fix = f"slmtok.Texts({records or 'texts'})"
    if records or not isinstance(data, list | tuple):
        raise WrongType(fact, limit="a path, a list of paths, or slmtok.Texts", fix=fix, option="data")
    for at, path in enumerate(data):
        check_path(f"data[{at}]", path, "slmtok.Texts(texts)")


def _as_reading(reading: Mapping[str, Any] | None) -> Callable[[Setting], str]:
    """An option of reading as `train` takes it, with the others that are given."""

    def written(option: Setting) -> str:
        one_of = ("text_key", "text_template")
        given = reading if isinstance(reading, Mapping) else {}
        others = {name: value for name, value in given.items() if not {name, option.name} <= {*one_of}}
        return f"reading={ {**others, option.name: option.value} }" if option.has_value else option.name

    return written


@contextmanager
def _writes_reading(in_call: Callable[[Setting], str]) -> Iterator[None]:
    """Writes the options in the fix for a malformed record as the call takes them."""
    from slmtok.errors import MalformedRecord, render

    try:
        yield
    except MalformedRecord as error:
        error.fix = render(error.parts["fix"] or "", in_call)
        raise


def _warn_of_contents(corpus: Corpus, in_call: Callable[[Setting], str]) -> None:
    """Warns of files that are more than prose or not UTF-8; `in_call` writes the option meant as the call takes it."""
    from slmtok.calls import warn_caller
    from slmtok.corpus.content_notes import content_notes
    from slmtok.corpus.kept_bytes import kept_bytes_note
    from slmtok.errors import render

    for note in (*content_notes(corpus.sources, corpus.options), kept_bytes_note(corpus.sources, corpus.options)):
        if note:
            text = render(note, lambda option: in_call(option) if option.has_value else option.name)
            warn_caller(with_import(text))


def _in_texts(sources: Sequence[str]) -> Callable[[Setting], str]:
    """An option of reading for a call that takes none: the files as texts, or the name that a format has."""
    files, each = (repr(sources[0]), "") if len(sources) == 1 else ("file", " for file in files")

    def written(option: Setting) -> str:
        if option.name == "format":
            return f"a name that ends in .{option.value}"
        if option.name == "separator":
            text = f"open({files}, encoding='utf-8').read()"
            return f"slmtok.Texts([text{each} for text in {text}.split({option.value!r}) if text])"
        return f"slmtok.Texts([open({files}, {option.name}={option.value!r}).read(){each}])"

    return written


def _read_options(reading: Mapping[str, Any]) -> ReadOptions:
    """The options of reading. Of a wrong one, the fix has all of them, as the call takes them."""
    from slmtok.errors import SlmtokError, render
    from slmtok.options import ReadOptions, build_options

    def in_call(option: Setting) -> str:
        return f"reading={ {**others, option.name: option.value} }" if option.has_value else option.name

    try:
        return build_options(ReadOptions, None, reading)
    except SlmtokError as error:
        others = {name: value for name, value in reading.items() if name != error.fields.get("option")}
        error.fix = render(error.parts["fix"] or "", in_call)
        raise


def _corpus(text: Text, data: Data, reading: Mapping[str, Any] | None) -> Corpus:
    """The corpus of paths, or of texts in memory."""
    from slmmodel.cli.text_source import Corpus
    from slmtok import Texts
    from slmtok.errors import MissingInput as MissingFile
    from slmtok.files import mention_texts
    from slmtok.training.texts import encode_texts

    if isinstance(data, Texts):
        return Corpus(text, [], texts=list(encode_texts(data)))
    paths = [data] if isinstance(data, str | os.PathLike) else data
    options = _read_options(reading or {})
    try:
        return Corpus(text, [os.fspath(path) for path in paths], options)
    except MissingFile as error:
        single_fix = "slmtok.Texts([text]), if it is a text; else check the name"
        mention_texts(error, data, "slmtok.Texts([texts]), if they are texts; else check the names", single_fix)
        raise


def __getattr__(name: str) -> NoReturn:
    """Raises `AttributeError`, or `ImportError` for an import, with what stands for a name of the package."""
    import slmmodel

    fix = f"from slmmodel import {name}" if name in slmmodel.__all__ else slmmodel.meant_in_package(name)
    if fix is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    # Of an `AttributeError`, `from slmmodel.app import ...` would show no message.
    caller = sys._getframe(1)
    is_import = caller.f_code.co_code[caller.f_lasti] == opmap["IMPORT_FROM"]
    raise (ImportError if is_import else AttributeError)(
        f"{__name__} has no {name!r}\n  fix:   {with_import_explained(fix)}"
    )
