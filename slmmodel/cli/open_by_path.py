"""What commands open: a run, with its model and tokenizer, and data by path: packed data, a file of ids, or text.

Only text needs the library slmtok, which is imported for it.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from slmmodel.checkpoint import RunFolder
from slmmodel.checks import missing_path, place_of_missing
from slmmodel.cli.run_argument import run_here
from slmmodel.cli.run_argument import tokenizer_near as tokenizer_near  # part of this module for its callers
from slmmodel.cli.saved_data_sets import refuse_ids
from slmmodel.cli.text import STDIN, Text, is_text, packed_of, tokenizer_of_data
from slmmodel.cli.validation_text import naming_validation
from slmmodel.errors import (
    Argument,
    InvalidInput,
    Mismatch,
    MissingInput,
    OptionError,
    SlmmodelError,
    Unreadable,
)
from slmmodel.folder_lock import FolderHandle, check_in_place
from slmmodel.hardware import device_for, use_threads
from slmmodel.run_entries import EVALUATIONS, VOCAB
from slmmodel.torchrun import is_main
from slmtok.atomic import check_outputs
from slmtok.cli.arguments import OUTPUT_FLAGS, command_line, notes_on_escapes, value_after, without_options
from slmtok.cli.files import Content, check_content
from slmtok.cli.options import Habit, arguments_of_command
from slmtok.cli.output import note, note_terminal, settings
from slmtok.cli.progress import Progress
from slmtok.errors import OutputExists
from slmtok.file_kinds import (
    CERTIFICATE,
    LAYOUT,
    LOSSES,
    MANIFEST,
    NAMES,
    PASSKEY,
    PROBE,
    PROMPT_SHEET,
    SHARD,
    has_manifest,
    is_run,
    kind_of_file,
)
from slmtok.files import free_name, resolved

if TYPE_CHECKING:
    from slmmodel.cli.text_source import Corpus
    from slmmodel.config import Settings
    from slmmodel.data.opening import RunData
    from slmmodel.data.source import TokenSource
    from slmmodel.models.protocol import Model
    from slmmodel.vocab import VocabMeta
    from slmtok.options import ReadOptions


@dataclass(frozen=True)
class RunContext:
    """The result of `open_run`. `text` is None without a tokenizer file."""

    run: RunFolder
    model: Model
    vocab: VocabMeta
    text: Text | None

    def need_text(self, option: str) -> Text:
        """The tokenizer, needed by `option`. Raises `MissingInput` where there is none."""
        if self.text is None:
            raise MissingInput(
                f"{option} needs the tokenizer, and the run has none",
                where=str(self.run.path),
                fix=f"-t {shlex.quote(tokenizer_of_data(self.run.path, self.vocab) or 'tok.json')}"
                + ", or give ids with --ids" * (option == "--prompt"),
            )
        return self.text


def load_torch() -> None:
    """Imports torch, which takes seconds, while a spinner says so."""
    with Progress("loading torch"):
        import torch  # noqa: F401


def open_run(
    path: str, *, tokenizer: str | None = None, device: str = "auto", step: int | None = None, threads: int = 0
) -> RunContext:
    """Opens a run. Raises what `RunFolder` and `Text` raise, and `OptionError` for a device that is not available.

    `Unreadable` where another folder was put in its place meanwhile.
    """
    run = RunFolder.open(path)
    run.handle = FolderHandle(run.path)
    if step is not None:
        run.step_of(step)
    with Progress("loading the model") as progress:
        note_unfinished(run, step, progress)
        use_threads(threads)
        model = run.model(str(device_for(device)), step=step)
    file = tokenizer or run.tokenizer
    context = RunContext(run, model, run.vocab, None if file is None else Text(file, run.vocab, path))
    # The model of one run would be read with the tokenizer of another.
    check_in_place(run.handle)
    return context


def note_unfinished(run: RunFolder, step: int | None, progress: Progress) -> None:
    """Says of a run that has not finished from which step its weights are, where no step was asked for."""
    if step is not None or run.finished or not (steps := run.checkpoints.list()):
        return
    newest = run.newest()
    damaged = f"; step {steps[-1]} is damaged" if newest != steps[-1] else ""
    if newest is None:
        raise MissingInput(
            f"{str(run.path)!r} has not finished, and no checkpoint of it is intact{damaged}",
            where=str(run.checkpoints.folder),
            fix=f"slm resume {shlex.quote(str(run.path))} trains it again, or restore the files",
        )
    progress.line(f"note: {str(run.path)!r} has not finished: the weights are those of step {newest}{damaged}")


_FILE_PREFIX = re.compile("^(@|file:(//)?)", re.IGNORECASE)
"""Of a prompt that other tools read from a file."""


def prompt_of(file: str) -> str:
    """The option for the text of a file without its last line feeds, with which a prompt does not end."""
    return f'--prompt "$(cat {shlex.quote(file)})"'


def prompt_meant(value: str) -> str:
    """The option for a prompt as other samplers take it: a text, or the name of a file after `FILE:` or `@`."""
    name = _FILE_PREFIX.sub("", value)
    return prompt_of(name) if name != value and os.path.isfile(name) else f"--prompt {shlex.quote(value)}"  # noqa: PTH113


def notes_on_prompt(text: str | None, context: RunContext | None = None) -> tuple[str, ...]:
    """Remarks on a prompt with an escape, and on one that is the name of a run, or of a file as `@FILE` of other tools.

    context: of the run that continues it, whose specials the prompt may spell.
    """
    escapes = notes_on_escapes("--prompt", text or "")
    if text and context and (note := _note_on_special(text, context)):
        return (note, *escapes)
    name = _FILE_PREFIX.sub("", text or "")
    if text and os.path.isdir(text) and is_run(text):  # noqa: PTH112
        return (f"{text!r} is also a run; the prompt is its name: slm sample {shlex.quote(text)} samples from the run",)
    if text == STDIN or not os.path.isfile(name):  # noqa: PTH113
        return escapes
    return (f"{name!r} is also a file; the prompt is its name: {prompt_of(name)} continues its text",)


def _note_on_special(text: str, context: RunContext) -> str | None:
    """A remark on the first spelling in a prompt of a special that the vocabulary has, also of another tool."""
    from slmmodel.decoding_options import opening_ids
    from slmtok.specials import SPELLING, spellings_meant

    if context.text is None:
        return None
    own = {token.text: token.role for token in context.text.tokenizer.specials.tokens}
    ids = context.vocab.specials
    for spelling in dict.fromkeys(SPELLING.findall(text)):
        role = own.get(spelling) or next(iter(spellings_meant([spelling])))
        if role in ids:
            opening = [each for each, id in ids.items() if id in opening_ids(context.vocab)]
            begins = f"; a text begins with {' '.join(opening)} already" * bool(opening)
            return f"the prompt has {spelling!r}, read as text{begins}; --ids takes special ids: {role} is {ids[role]}"
    return None


def check_prompt(text: str | None, ids: str | None) -> list[int] | None:
    """The ids of a prompt that is given as numbers, else None; needs no run.

    Raises `OptionError` for a text too, for what is not a list of numbers, and for a text that is not UTF-8.
    """
    if text is not None:
        _check_utf8(text)
    if ids is None:
        return None
    if text is not None:
        raise OptionError("--prompt and --ids together", fix="give one of them", option="--ids")
    words = ids.strip().strip("[]").replace(",", " ").split()
    if not all(word.isascii() and word.isdigit() for word in words):
        separated = re.sub(r"[\s,;|()\[\]]+", " ", ids).strip()
        is_list = re.fullmatch(r"[0-9 ]+", separated) is not None
        fix = f"--ids {shlex.quote(separated)}" if is_list else f"--prompt {shlex.quote(ids)}, which encodes the text"
        raise OptionError(f"--ids takes integers, not {ids!r}", fix=fix, option="--ids")
    return [int(word) for word in words]


def _check_utf8(text: str) -> None:
    """Raises `OptionError` for an argument that is not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        data = os.fsencode(text)
        at = len(os.fsencode(text[: error.start]))
        raise OptionError(
            f"the prompt is not UTF-8: byte {at:,} is 0x{data[at]:02x}",
            fix="save the text in a file, and pipe it in: iconv -f ENCODING -t UTF-8 FILE | ... --prompt -",
            option="--prompt",
        ) from None


def prompt_ids(run: RunContext, text: str | None, ids: str | None) -> list[int]:
    """The ids of a prompt, given as text (`-` is stdin) or as numbers; text is preceded by the opening special.

    Raises what `check_prompt` raises.
    """
    from slmmodel.decoding_options import opening_ids

    if (given := check_prompt(text, ids)) is not None:
        if not given:
            begins = "".join(f": --ids {id} begins a document" for id in opening_ids(run.vocab))
            raise InvalidInput("--ids has no ids", fix=f"name one or more{begins}", option="ids")
        return given
    text = read_stdin() if text == STDIN else text
    return opening_ids(run.vocab) + (run.need_text("--prompt").encode(text) if text else [])


MAX_LINE_BYTES = 16 << 20
"""Of a text that is typed, a prompt or a pair of sentences."""


def bounded_lines(stream: BinaryIO, name: str) -> Iterator[bytes]:
    """The lines of a stream. Raises `InvalidInput` for one above `MAX_LINE_BYTES`, as those of /dev/zero are.

    `Unreadable` for one that the system does not give: of stdin, its error has no name of a file.
    """
    number = 0
    while True:
        try:
            line = stream.readline(MAX_LINE_BYTES + 1)
        except OSError as error:
            fact, fix = f"cannot read {name}: {error.strerror or error}", "check the file, the pipe or the disk"
            raise Unreadable(fact, where=f"{name}, line {number + 1:,}", fix=fix, os_error=error.errno) from error
        if not line:
            return
        number += 1
        if len(line) > MAX_LINE_BYTES:
            raise InvalidInput(
                f"a line has more than {MAX_LINE_BYTES:,} bytes",
                where=f"{name}, line {number:,}",
                limit="texts of a line",
                fix="check the file; slm eval RUN --on FILE scores a long text",
            )
        yield line


def stdin_lines() -> Iterator[bytes]:
    """The lines of stdin. Raises `Unreadable` where it is closed, and as `bounded_lines`."""
    if sys.stdin is None:
        raise Unreadable("cannot read stdin: it is closed", where=STDIN, fix="send a file to stdin: < FILE")
    note_terminal()
    return bounded_lines(sys.stdin.buffer, "stdin")


def read_stdin() -> str:
    """All of stdin, a prompt. Raises as `stdin_lines`; `InvalidInput` above `MAX_LINE_BYTES` and for no UTF-8."""
    lines, size = list[bytes](), 0
    for line in stdin_lines():
        lines.append(line)
        size += len(line)
        if size > MAX_LINE_BYTES:
            raise InvalidInput(
                f"stdin has more than {MAX_LINE_BYTES:,} bytes",
                where=f"stdin, line {len(lines):,}",
                limit="bytes of a prompt",
                fix="give its end, which a model continues: tail -c 100000 FILE | slm sample RUN --prompt -",
            )
    data = b"".join(lines)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"stdin is not UTF-8: byte {error.start:,} is 0x{data[error.start]:02x}",
            where=STDIN,
            fix="convert it: iconv -f ENCODING -t UTF-8",
        ) from None


def check_written(
    path: str | None,
    option: str,
    inputs: Iterable[str | Path | None],
    *,
    force: bool,
    content: Content | None = None,
) -> None:
    """Raises unless the file `path` of an option, which holds `content`, can be written; None is an option not given.

    No file of the `inputs` is replaced, not with `force` either: files, and folders with all that is in them, but what
    earlier evaluations and reports of a run have written there. Raises what `check_outputs` raises.
    """
    if path is None:
        return
    files: list[Path] = []
    for place in (Path(each) for each in inputs if each):
        inside = place.rglob("*") if place.is_dir() else [place]
        kept = (file for file in inside if file.parent.name != EVALUATIONS and file.suffix != ".html")
        files += filter(Path.is_file, kept)
    try:
        check_outputs(path, inputs=files, force=force, option=option)
    except OutputExists:
        # With --force, its name would be refused.
        check_content(path, content, option)
        raise
    check_content(path, content, option)


_CHECKED_BY = {CERTIFICATE: "eval", PASSKEY: "passkey", PROBE: "probe", PROMPT_SHEET: "prompts"}
"""The command whose --check reads a kind of file."""


def refuse_wrong_check(check: str | None, named_run: str | None, wanted: str, result: str, command: str) -> None:
    """Raises `OptionError` for what is no result of a run as the value of --check: a run, another file of one, a result
    of another command, or a file of losses beside `named_run`. `MissingInput` for a result that was not written yet.

    `wanted` says what a `result` is, a file in the folder of evaluations that `command` writes.
    """
    if check is None:
        return
    path = Path(check)
    other = _CHECKED_BY.get(kind_of_file(check)) if path.is_file() else None
    if other is not None and other != command:
        fact = f"--check {check} is {NAMES[kind_of_file(check)]}, not {wanted}"
        own = str(path.parent.parent) if path.parent.name == EVALUATIONS else "RUN"
        fix = shlex.join(["slm", other, named_run or own, "--check", check])
        raise OptionError(fact, fix=fix, option="check")
    is_in_place = path.parent.name == EVALUATIONS
    found = None if is_in_place else RunFolder(path).enclosing
    run = path if RunFolder(path).exists() else found[0] if found else None
    if is_in_place and not path.exists() and RunFolder(path.parent.parent).exists():
        fix = _written(path.parent.parent, result, command)
        raise MissingInput(f"no file {check!r}", where=place_of_missing(check), fix=fix, path=check)
    if run is None and named_run is not None and path.is_file() and kind_of_file(check) == LOSSES:
        fact = f"--check {check} is {NAMES[LOSSES]}, not {wanted}"
        raise OptionError(fact, fix=_written(Path(named_run), result, command), option="check")
    if run is not None and path.exists():
        fact = f"--check {check} is a {'run' if run == path else 'file of a run'}, not {wanted}"
        raise OptionError(fact, fix=_written(run, result, command), option="check")


def result_to_check(result: str, command: str) -> dict[str, Habit]:
    """What --check without a file means: the file `result` of the run, which `command` writes."""

    def fix(_: str | None, arguments: Sequence[str]) -> str:
        run = next(filter(is_run, arguments), None) or run_here()
        return _written(Path(run), result, command) if is_run(run) else "--check FILE"

    return {"--check": fix}


def _written(run: Path, result: str, command: str) -> str:
    """The option that names a result of a run, or the command that writes one."""
    written = run / EVALUATIONS / result
    if written.is_file():
        return f"--check {shlex.quote(str(written))}"
    return f"{shlex.join(['slm', command, str(run)])} writes one"


def check_distinct(**outputs: str | None) -> None:
    """Raises `OptionError` where two options name one file to write."""
    files: dict[Path, str] = {}
    for option, path in outputs.items():
        if path is not None and (first := files.setdefault(resolved(path), option)) != option:
            raise OptionError(f"--{first} and --{option} are both {path!r}", fix=f"another --{option}", option=option)


def is_text_for_tokenizer(path: str) -> bool:
    """Whether the value of `-t` is text in the place of a tokenizer; raises its error where it is neither."""
    from slmtok.cli.files import names_tokenizer
    from slmtok.file_content import is_text as is_plain_text
    from slmtok.file_kinds import UNKNOWN, kind_of_file, read_head
    from slmtok.opening import load

    if names_tokenizer(path):
        return False
    if Path(path).is_file() and kind_of_file(path) == UNKNOWN and is_plain_text(read_head(path)):
        return True
    load(path)
    return False


def refuse_run(
    path: str, fix: str = "name the text", wanted: str = "text", suffixes: Sequence[str] = (".safetensors",)
) -> None:
    """Raises `OptionError` for a run, a checkpoint or weights of one, where data are meant; `fix` is that of a run.

    suffixes: those of files in a run.
    """
    folder = Path(path)
    if folder.suffix in suffixes and folder.is_file() and (found := RunFolder(folder).enclosing):
        is_model = folder.name.startswith("model")
        raise OptionError(
            f"{path!r} {'has weights' if is_model else 'is a file'} of the run {str(found[0])!r}, not {wanted}",
            limit="text, packed data, or a file of ids",
            fix=fix.replace(shlex.quote(path), shlex.quote(str(found[0]))),
            option="data",
        )
    runs = [folder, *([folder.parent.parent] if (folder / "model.safetensors").is_file() else [])]
    for run in runs:
        if RunFolder(run).exists():
            raise OptionError(
                f"{path!r} is a {'run' if run == folder else 'checkpoint'} of slm, not {wanted}",
                limit="text, packed data, or a file of ids",
                fix=fix if run == folder else f"name the text, or the run: {run}",
                option="data",
            )


def comparison_of(runs: Sequence[str]) -> str:
    """The commands that compare the first two of some runs on their validation documents, or on others for both."""
    names = [f"{resolved(run).name}-{letter}.losses" for run, letter in zip(runs, "ab", strict=False)]
    files = [free_name(name) for name in names]
    on = _documents_for([RunFolder(Path(run)) for run in runs[:2]])
    scored = [shlex.join(["slm", "eval", run, "--losses", file, *on]) for run, file in zip(runs, files, strict=False)]
    line = " && ".join([*scored, shlex.join(["slm", "compare", *files])])
    return line + "; TEXT stands for a text that neither was trained on" * ("TEXT" in on)


def _documents_for(runs: Sequence[RunFolder]) -> list[str]:
    """The option that scores two runs on the same documents; nothing where those of their training are the same."""
    if len({str(run.fingerprint.get("val")) for run in runs}) == 1:
        return []
    paths, digests = zip(*map(validation_of, runs), strict=True)
    if None in digests:
        return ["--on", "TEXT"]
    if digests[0] == digests[1]:
        return []
    tokenizers = {str(run.fingerprint.get("fingerprint")) for run in runs}
    return ["--on", paths[0] if len(tokenizers) == 1 else "TEXT"]


def validation_of(run: RunFolder) -> tuple[str, str | None]:
    """The packed data with the validation documents of a run, and the digest of these; None for others.

    Ids of one text differ by tokenizer, but not the digest of its documents.
    """
    from slmmodel.config import RunConfig
    from slmmodel.data.opening import open_source

    path, split = RunConfig.model_validate(run.config).data.scored()
    if path is None or not has_manifest(path):
        return str(path), None
    try:
        return path, open_source(path, split or "val").documents_digest
    except SlmmodelError:
        return path, None


def refuse_file_of_data(path: str, line_with: Callable[[str], str] | None = None, *, train: str | None = None) -> None:
    """Raises `OptionError` for one file of packed data; the fix is the command with their folder in its place, which
    `line_with` writes, and which follows from the arguments without it.

    train: the training data, beside which `path` is for validation; `auto` is the validation split of their own folder.
    """
    kind, context = kind_of_file(path), click.get_current_context(silent=True)
    folder = str(Path(path).parent) if kind in (MANIFEST, LAYOUT, SHARD) else packed_of(path)
    if folder is None or context is None:
        return
    is_own = train is not None and Path(train) == Path(folder)
    words = _with_data(path, "auto" if is_own else folder)
    if line_with is None and words == arguments_of_command():
        return  # a file of settings names it: opening refuses it
    raise OptionError(
        f"{path!r} is {NAMES.get(kind, 'a file of packed data')}, and slm reads its folder",
        fix=command_line(context, words) if line_with is None else line_with(folder),
        option="data",
    )


def _with_data(path: str, other: str) -> list[str]:
    """The arguments of the command with other data in the place of some."""
    meant = {path: other, f"--on={path}": f"--on={other}", f"--val={path}": f"--val={other}"}
    kept = ("-t", "--tokenizer", *OUTPUT_FLAGS)
    return [
        word if before in kept else meant.get(word, word) for before, word in pairwise(["", *arguments_of_command()])
    ]


@contextmanager
def naming_packed_again(path: str | None) -> Iterator[None]:
    """For packed data of another tokenizer, the fix packs their text again and runs the command with the new data."""
    try:
        yield
    except Mismatch as error:
        context = click.get_current_context(silent=True)
        if path is not None and context is not None and error.fields.get("field") == "fingerprint":
            error.fix = f"{error.parts['fix']} && {command_line(context, _with_data(path, 'NEW'))}"
        raise


def check_text(path: str, read: ReadOptions | None) -> None:
    """Raises `OptionError` for a file that exists and is no text, and for files of slmtok; `UnsupportedFormat` for a
    saved data set of ids.
    """
    refuse_ids(path)
    if Path(path).exists():
        from slmtok.cli.files import identified_files
        from slmtok.options import ReadOptions

        identified_files([path], read or ReadOptions())


def open_ids_or_text(
    path: str,
    split: str | None,
    vocab: VocabMeta,
    tokenizer: Text | str | Path | None,
    read: ReadOptions | None = None,
    owner: Path | None = None,
    val: str = "auto",
) -> TokenSource:
    """A split of ids, or of text with a tokenizer. Without a split: all of a text; of ids `val`, else `train`.

    `owner` is the run that `vocab` belongs to. `val`: the setting `data.val`, without which all of a text is `train`.

    Raises what opening and reading raise, and `MissingInput` for text without a tokenizer.
    """
    refuse_file_of_data(path)
    if is_text(path):
        refuse_run(path)
        from slmmodel.cli.text_source import ALL, Corpus, text_source

        if tokenizer is None:
            check_text(path, read)
            raise MissingInput(
                f"{path!r} is text, and there is no tokenizer",
                where="the run has none",
                fix=f"-t {shlex.quote(tokenizer_near(path))}",
                path=path,
            )
        check_split_of_text(path, split)
        text = tokenizer if isinstance(tokenizer, Text) else Text(tokenizer, vocab, owner)
        corpus = Corpus(text, [path], read)
        rule = corpus.split("none" if split in (None, ALL) or val != "auto" else "auto")
        _note_on(corpus, path)
        return text_source(corpus, vocab, split or ALL, rule)
    from slmmodel.data.opening import open_source
    from slmmodel.data.source import NoSuchSplitError

    if not Path(path).exists():
        if any(map(str.isspace, path)):
            raise missing_path(path, "for text itself name - and pipe it in")
        if split is None and (line := _with_split(path)):
            raise missing_path(path, line)
    try:
        return open_source(path, split or "val", vocab=vocab)
    except NoSuchSplitError:
        if split is not None:
            raise
        source = open_source(path, "train", vocab=vocab)
        note_of_command(f"{path} has no split val: all its documents, the split train, are taken")
        return source


def _with_split(name: str) -> str | None:
    """The command line with `--split` where `--on` has the name of a split; None for other lines."""
    from slmmodel.run import SPLITS

    context, given = click.get_current_context(silent=True), arguments_of_command()
    if context is None or name not in SPLITS or value_after(("--on",), given) != name or "split" not in context.params:
        return None
    return command_line(context, [*without_options(given, ("--on",)), "--split", SPLITS[name]])


def check_split_of_text(path: str, split: str | None) -> None:
    """Raises `MissingInput` for a split that a text does not have."""
    from slmmodel.cli.text_source import ALL
    from slmmodel.data.opening import VALIDATION

    if split not in (None, ALL, "train", "val"):
        fact, fix = f"a text has no split {split!r}", (Argument("split", "val" if split in VALIDATION else ALL),)
        raise MissingInput(fact, where=path, limit=f"{ALL}, train, val", fix=fix)


def open_validation(val: str, vocab: VocabMeta, text: Text, read: ReadOptions) -> TokenSource:
    """Validation data that are named: packed, or text that is read with the options of the training text.

    Raises what opening raises, and the error of the first record of a text.
    """
    from slmtok.corpus import documents

    with naming_validation(val, text.name or "TOK", read, val):
        opened = open_ids_or_text(val, None, vocab, text, read)
        if is_text(val) and Path(val).is_file():
            next(documents([val], read), None)
    return opened


def check_vocab_of(data: str | None, opened: RunData | None, given: Settings) -> None:
    """Raises `InvalidConfig` for a size of the vocabulary that is not that of the data, before torch is imported.

    opened: None for packed data, whose vocabulary stands beside them.
    """
    from slmmodel.config_values import check_vocab_sizes
    from slmmodel.vocab import VocabMeta

    sizes = {name: given[f"model.{name}"] for name in ("n_vocab", "padded_vocab") if f"model.{name}" in given}
    path = Path(str(data), VOCAB)
    if sizes and (opened is not None or path.is_file()):
        vocab = VocabMeta.load(path) if opened is None else opened.vocab
        check_vocab_sizes(sizes, {"n_vocab": vocab.n_vocab, "padded_vocab": vocab.padded_vocab})


def open_if_text(path: str, tokenizer: str | Path | None, val: str, read: ReadOptions) -> RunData | None:
    """Training data of text with a tokenizer; None for packed data, which have their own.

    `val` is `auto`, `none`, or other packed data or text, all of it. Raises what reading raises, and `Mismatch` for
    packed data with another tokenizer.
    """
    if tokenizer is None:
        return None
    if Path(path).exists() and not is_text(path):
        from slmmodel.data.opening import open_source

        packed = open_source(path)
        if Path(tokenizer).is_file() and is_text_for_tokenizer(str(tokenizer)):
            fact = f"{str(tokenizer)!r} is text, and -t names a tokenizer"
            fix = "leave it out: packed data have their own; or name the text in place of the data"
            raise OptionError(fact, fix=fix, option="tokenizer")
        Text(tokenizer, packed.vocab, path)
        return None
    from slmmodel.cli.text_source import Corpus

    refuse_run(path)
    with naming_validation(val, str(tokenizer), read, path):
        corpus = Corpus(Text(tokenizer), [path], read)
    opened = open_corpus(corpus, val)
    _note_on(corpus)
    _note_on_reading()
    note_on_globs(corpus.paths, read)
    places = {"is DATA": [path], "is in DATA": corpus.sources}
    for place, files in places.items():
        if Path(val).exists() and any(Path(each).exists() and Path(val).samefile(each) for each in files):
            note_of_command(f"the validation documents are those of training: --val {val} {place}")
            break
    return opened


def _note_on(corpus: Corpus, name: str | None = None) -> None:
    """A note on a separator that cuts no file. name: of a text beside the one of training."""
    from slmtok.cli.corpus_notes import separator_note

    if corpus.is_uncut:
        note_of_command(separator_note(corpus.options.separator or "", name))


def _note_on_reading() -> None:
    """The notes of finding the files now: those at the end of a run would come hours later."""
    context = click.get_current_context(silent=True)
    for text in context.meta.pop("warnings", ()) if context else ():
        note_of_command(text)


def note_on_globs(paths: Sequence[str], options: ReadOptions) -> None:
    """Notes on globs that match no file."""
    from slmtok.cli.corpus_notes import glob_meant
    from slmtok.corpus.globs import matches
    from slmtok.corpus.paths import expand

    globs = [("--exclude ", glob) for glob in options.exclude]
    globs += [(f"--domain {name}=", glob) for name, of_name in options.domains.items() for glob in of_name]
    found = expand(paths) if globs else []
    for option, glob in globs:
        if not any(matches(source, glob) for source in found):
            fact = f"{option}{shlex.quote(glob)} matches no file of {', '.join(paths)}"
            note_of_command(fact + glob_meant(glob, found, option))


def note_of_command(text: str) -> None:
    """A note of a command, once; nothing in a call of Python."""
    context = click.get_current_context(silent=True)
    if context is None or not is_main() or settings().quiet or text in (noted := context.meta.setdefault("noted", [])):
        return
    noted.append(text)
    note(text)


def open_corpus(corpus: Corpus, val: str) -> RunData:
    """Training data of a corpus. `val` as in `open_if_text`; the options of the corpus also read another text."""
    from slmmodel.cli.reading import to_flags
    from slmmodel.cli.text_source import corpus_data
    from slmmodel.data.opening import check_validation, refuse_rule, refuse_split

    if val in ("auto", "none"):
        return corpus_data(corpus, val)
    words = [*corpus.paths, "-t", corpus.text.name or "TOK", *to_flags(corpus.options)]
    command, name = shlex.join(["slmtok", "pack", *words]), " ".join(corpus.paths)
    refuse_rule(val, command, name, lambda: corpus.split("auto").first is not None)
    refuse_split(val, "")
    data = corpus_data(corpus, "none")
    held_out = open_validation(val, data.vocab, corpus.text, corpus.options)
    check_validation(data.name, shlex.quote(corpus.text.name or "TOK"), data.vocab, held_out)
    return replace(data, val=held_out)
