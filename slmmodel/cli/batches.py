"""`slm batches`: sequences of real batches with targets, document boundaries, positions and padding."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmmodel.checkpoint import RunFolder
from slmmodel.cli.open_by_path import (
    check_text,
    load_torch,
    open_if_text,
    refuse_file_of_data,
    refuse_run,
    tokenizer_near,
)
from slmmodel.cli.options import COUNT, LENGTH, flag_of, setting_option
from slmmodel.cli.reading import corpus_options, require_text, to_flags
from slmmodel.cli.text import Text, is_text
from slmmodel.errors import InvalidConfig, MissingInput, OptionError, unknown_name
from slmmodel.sizes import counted, parse_count
from slmtok.cli.arguments import value_after
from slmtok.cli.errors import EXTRA
from slmtok.cli.options import (
    AmbiguousError,
    Parsed,
    argument,
    arguments_of_command,
    command,
    instead,
    option,
    tokenizer_option,
)
from slmtok.cli.output import Outcome, printable
from slmtok.file_kinds import is_run
from slmtok.foreign_options import nearest_name

if TYPE_CHECKING:
    from slmmodel.config import RunConfig
    from slmmodel.data.batch import Batch
    from slmmodel.data.loader import Loader
    from slmmodel.data.source import TokenSource
    from slmmodel.run_files import TrainState
    from slmmodel.training.stages import DataStages
    from slmmodel.vocab import VocabMeta
    from slmtok.options import ReadOptions

    ToWords = Callable[[Any], list[str]]

DEFAULT_SEQ_LEN, DEFAULT_BATCH_SIZE = 128, 16
MAX_BATCH_IDS, MAX_EPOCHS = 1 << 21, 1000
_STATS_KEYS = {"columns": "positions", "inputs": "pairs", "inputs_dropped": "pairs_dropped"}
"""Keys of `--json` that are not named like the fields of `PackingStats`."""
_DATA_PANEL = "For packed data, as in slm train"


def _number(value: str | None, arguments: Sequence[str]) -> str:
    """For an argument too many: the number of batches."""
    words = [word for word in arguments if word != value]
    is_number = value is not None and value.isdecimal() and value_after(["--n"], words) is None
    return shlex.join(["slm", "batches", *words, "--n", str(value)]) if is_number else ""


_HABITS = {
    EXTRA: _number,
    "--step": instead("--first-step {}", "N"),
    **dict.fromkeys(("--context", "--block-size", "--max-seq-len", "--max-length"), instead("--seq-len {}", "128")),
    **dict.fromkeys(("--steps", "--batches", "--n-batches", "--num-batches", "--num"), instead("--n {}", "2")),
}


def _parse_n(text: str) -> int:
    """A number of batches. Raises `ValueError`; for all batches of a run `AmbiguousError`, with their number."""
    if (number := parse_count(text)) is not None and number >= 0:
        return number
    run, steps = _run_and_steps()
    if text.lower() in ("all", "-1") and steps:
        raise AmbiguousError(f"{_not_a_count(text)}; {run} has {counted(steps, 'step')}", [steps])
    raise ValueError(_not_a_count(text))


def _parse_first_step(text: str) -> int:
    """A step, from 0 on. Raises `ValueError`; for `-1`, the last one of a run, `AmbiguousError` with its number."""
    if (number := parse_count(text)) is not None and number >= 0:
        return number
    run, steps = _run_and_steps()
    from_end = int(text[1:]) if _FROM_END.fullmatch(text) else 0
    if from_end and from_end <= steps:
        raise AmbiguousError(f"{_not_a_count(text)}; the last step of {run} is {steps - 1}", [steps - from_end])
    raise ValueError(_not_a_count(text))


_FROM_END = re.compile(r"-[1-9]\d{0,8}", re.ASCII)
"""A place from the end, such as `-1`."""


def _not_a_count(text: str) -> str:
    return f"takes an integer >= 0, not {text!r}"


def _run_and_steps() -> tuple[str, int]:
    """The run among the arguments of the command and the steps that it has at its end; 0 where none are known."""
    name = next(filter(is_run, arguments_of_command()), "")
    return name, (name and _steps_of(RunFolder(Path(name)))) or 0


def _steps_of(run: RunFolder) -> int | None:
    """The steps that a run has at its end."""
    return run.result.get("step") if run.finished else run.fingerprint.get("steps")


@command("batches", example="slm batches run --n 1", habits=_HABITS)
@argument("source", metavar="RUN|DATA", help="A run, packed data, or text, with -t.")
@corpus_options
@option("--n", metavar="N", type=Parsed(_parse_n), default=2, help="Number of batches.")
@option("--first-step", metavar="N", type=Parsed(_parse_first_step), default=0,
        help="The training step of the first batch.")  # fmt: skip
@option("--max-rows", metavar="N", type=COUNT, default=4, help="Sequences shown of each batch; 0 shows all.")
@option("--split", metavar="NAME", default="train", help="train or val.")
@tokenizer_option(required=False, help="The tokenizer; by default that of the data. Without one: ids.")
@option("--seq-len", metavar="N", type=LENGTH, show_default=f"{DEFAULT_SEQ_LEN}", panel=_DATA_PANEL,
        help="Positions of a sequence.")  # fmt: skip
@option("--batch-size", metavar="N", type=LENGTH, show_default=f"{DEFAULT_BATCH_SIZE}", panel=_DATA_PANEL,
        help="Sequences of a batch.")  # fmt: skip
@setting_option("data.pack", overrides=True, panel=_DATA_PANEL)
@setting_option("data.positions", overrides=True, panel=_DATA_PANEL)
@setting_option("run.seed", overrides=True, panel=_DATA_PANEL)
def batches(
    source: str,
    read: ReadOptions,
    n: int,
    first_step: int,
    max_rows: int,
    split: str,
    tokenizer: str | None,
    **settings: Any,
) -> Outcome:
    """Show sequences of real batches, decoded: inputs, targets, document boundaries, positions and padding."""
    from slmmodel.data.loader import Cursor
    from slmmodel.data.strategies import STRATEGIES

    if RunFolder(Path(source)).exists():
        _check_split(split)
    pack = settings["pack"]
    if pack is not None and pack not in STRATEGIES:
        raise unknown_name("strategy", pack, STRATEGIES, "--pack {}")
    stages, text = _open_stages(source, split, tokenizer, read, settings)
    if not stages.loader.document_block(0).nbytes().any():
        raise InvalidConfig(f"the split {split} has no text", where=source, fix="name data with text in them")
    _check_size(stages.loader, first_step, n)
    # It imports torch, which opening the stages has loaded, with a report of it.
    from slmmodel.training.state import initial_state

    to_words: ToWords = (lambda ids: list(map(str, ids))) if text is None else text.words
    state, shown = initial_state(), list[dict[str, Any]]()
    if split == "train":
        _begin_at_branch(state, source, stages.sequences_digest, first_step)
    loader = stages.enter(state)
    for number in range(state.counters.step, first_step + n):
        step = loader.global_batch(Cursor(*state.cursor))
        if number >= first_step:
            shown.append({"step": number, **_batch_dict(loader.batch(step.sequence_keys), to_words, max_rows)})
        state.counters.step, state.cursor = number + 1, list(step.next)
        loader = stages.advance(state)
    stats = loader.packing(0, 0).stats()
    loader.close()
    result: dict[str, object] = {
        "source": source,
        "split": split,
        "pack": loader.pack,
        "digest": stages.sequences_digest,
        "stats": {_STATS_KEYS.get(name, name): value for name, value in stats._asdict().items()},
        "batches": shown,
    }
    notes = _notes_on_end(source, first_step + n) if split == "train" else ()
    return Outcome(result, lambda: _show(result), warnings=notes)


def _begin_at_branch(state: TrainState, source: str, plan: str, first_step: int) -> None:
    """Moves the state to the first step of a branch whose `plan` is not that of the steps before.

    Raises `OptionError` for those steps: the branch has no record of the settings that decided their sequences.
    """
    run = RunFolder(Path(source))
    parent = (run.fingerprint.get("parent") if run.exists() else None) or {}
    if parent.get("cursor") is None or parent.get("plan") == plan:
        return
    step = parent["step"]
    if first_step < step:
        raise OptionError(
            f"the run {source!r} does not record which sequences the steps before step {step:,} took",
            where=f"it began at step {step:,} of another run, and steps before it had another batch, seed or data",
            limit=f"--first-step {step}, or more",
            fix=f"--first-step {step}, or name the other run",
            option="first_step",
        )
    state.counters.step, state.cursor = step, parent["cursor"]
    state.bytes_read_by_source = parent.get("positions", {})


def _notes_on_end(source: str, steps: int) -> tuple[str, ...]:
    """A note where steps lie behind the end of a run, which reads no such batches."""
    run = RunFolder(Path(source))
    if not run.exists():
        return ()
    end = _steps_of(run)
    if end is None or steps <= end:
        return ()
    last = f"its last batch is step {end - 1:,}" if end else "it reads no batch"
    return (f"the run {source!r} has {end:,} steps, and {last}: a longer run would read those from step {end:,} on",)


def _check_size(loader: Loader, first_step: int, n: int) -> None:
    """Raises `OptionError` for batches that fill the memory, and for steps that take minutes to reach."""
    ids, sequences, steps = loader.batch_size * loader.seq_len, max(1, len(loader.packing(0, 0))), first_step + n
    epochs = steps * loader.batch_size // sequences
    if ids > MAX_BATCH_IDS:
        raise OptionError(
            f"a batch of {loader.batch_size:,} sequences of {loader.seq_len:,} has {ids:,} ids",
            limit=f"{MAX_BATCH_IDS:,} ids",
            fix=f"--batch-size {max(1, MAX_BATCH_IDS // loader.seq_len)}, or less",
            option="batch_size",
        )
    if epochs > MAX_EPOCHS:
        max_steps = MAX_EPOCHS * sequences // loader.batch_size
        if max_steps < 1:
            fix, option = f"--batch-size {MAX_EPOCHS * sequences}, or less", "batch_size"
        elif n <= max_steps:
            fix, option = f"--first-step {max_steps - n}, or less", "first_step"
        else:
            fix = f"--first-step 0 --n {max_steps}" if first_step >= max_steps else f"--n {max_steps - first_step}"
            fix, option = f"{fix}, or less", "n"
        raise OptionError(
            f"step {steps:,} lies in epoch {epochs:,}, and the epochs before it are counted one by one",
            limit=f"{MAX_EPOCHS:,} epochs",
            fix=fix,
            option=option,
        )


def _open_stages(
    path: str, split: str, tokenizer: str | Path | None, read: ReadOptions, given: dict[str, Any]
) -> tuple[DataStages, Text | None]:
    """The stages of a run; or one, of packed data or of text; and the tokenizer, if any.

    Raises what opening raises, and `OptionError` for settings that a run has fixed.
    """
    from slmmodel.cli.recorded import training_data
    from slmmodel.config import RunConfig, Setting, validate
    from slmmodel.data.opening import RunData

    folder = Path(path)
    given = {name: value for name, value in given.items() if value is not None}
    if (folder / "config.yaml").is_file():
        if flags := [*map(flag_of, given), *(word for word in to_flags(read) if word.startswith("--"))]:
            flags = list(dict.fromkeys(flags))
            raise OptionError(
                f"{' and '.join(flags)} cannot be chosen for a run",
                where=str(folder),
                limit="the configuration of a run decides how its sequences are made",
                fix=f"leave {'it' if len(flags) == 1 else 'them'} out, or name the data instead of the run",
                option=flags[0],
            )
        run = RunFolder.open(folder)
        config, vocab, tokenizer = RunConfig(**run.config), run.vocab, tokenizer or run.tokenizer
        try:
            data = training_data(run, split, tokenizer)
        except MissingInput as error:
            error.fix = _with_data(config, tokenizer) if isinstance(config.data.train, str) else error.fix
            raise
    else:
        require_text(read, path)
        source, vocab, tokenizer = _open_data(path, split, tokenizer, read)
        seq_len, batch_size = given.pop("seq_len", DEFAULT_SEQ_LEN), given.pop("batch_size", DEFAULT_BATCH_SIZE)
        names = {name: f"run.{name}" if name == "seed" else f"data.{name}" for name in given}
        values = {names[name]: Setting(value, f"--{name}") for name, value in given.items()}
        values["run.batch_tokens"] = Setting(seq_len * batch_size, "--batch-size")
        config = RunConfig(model={"seq_len": seq_len}, **validate(values))
        data = RunData(source, None, vocab)
    load_torch()
    from slmmodel.training.stages import DataStages

    return DataStages(data, config), None if tokenizer is None else Text(tokenizer, vocab, path)


def _with_data(config: RunConfig, tokenizer: str | Path | None) -> str:
    """The command that shows the sequences of a run whose data are in another place."""
    shape = f"--seq-len {config.seq_len} --batch-size {config.batch_size} --pack {config.data.pack}"
    own = "" if tokenizer is None else f" -t {shlex.quote(str(tokenizer))}"
    return f"name the data: slm batches DATA{own} {shape} --seed {config.run.seed}"


def _check_split(split: str) -> None:
    """Raises `OptionError` for a split that neither a run nor a text has; packed data may have others."""
    from slmmodel.data.opening import SPLITS, VALIDATION

    if split not in SPLITS:
        nearest = "val" if split in VALIDATION else nearest_name(split, SPLITS)
        raise unknown_name("split", split, SPLITS, "--split {}", nearest=nearest)


def _open_data(
    path: str, split: str, tokenizer: str | Path | None, read: ReadOptions
) -> tuple[TokenSource, VocabMeta, str | Path | None]:
    """A split of packed data or text, its vocabulary, and the tokenizer, if any."""
    from slmmodel.data.opening import open_source

    line = shlex.join(["slm", "batches", *arguments_of_command()])
    refuse_run(path, line, suffixes=(".safetensors", ".yaml", ".json"))
    refuse_file_of_data(path)
    if is_text(path) and tokenizer is None:
        check_text(path, read)
        raise MissingInput(
            f"{path!r} is text, and there is no tokenizer", fix=f"-t {shlex.quote(tokenizer_near(path))}", path=path
        )
    opened = open_if_text(path, tokenizer, "auto", read)
    if opened is not None:
        _check_split(split)
        return opened.val if opened.val is not None and split == "val" else opened.train, opened.vocab, tokenizer
    packed = open_source(path, split)
    beside = (Path(path) if Path(path).is_dir() else Path(path).parent) / "tok.json"
    return packed, packed.vocab, tokenizer or (beside if beside.is_file() else None)


def _batch_dict(batch: Batch, to_words: ToWords, max_rows: int) -> dict[str, Any]:
    """The sizes of one batch, and its first sequences span by span."""
    count = len(batch.sequence_keys)
    return {
        "rows": count,
        "slots": batch.ids.shape[1],
        "targets": batch.n_targets,
        "bytes": batch.n_bytes,
        "padding": int((batch.document_ids < 0).sum()),
        "single_doc": batch.one_document_per_row,
        "shown": [_row_dict(batch, index, to_words) for index in range(min(count, max_rows or count))],
    }


def _row_dict(batch: Batch, index: int, to_words: ToWords) -> dict[str, Any]:
    columns = (batch.document_ids, batch.position_ids, batch.ids, batch.targets, batch.target_mask)
    doc, positions, ids, targets, scored = (column[index].tolist() for column in columns)
    target_words = [word if on else "·" for word, on in zip(to_words(targets), scored, strict=True)]
    targets = [target if on else None for target, on in zip(targets, scored, strict=True)]
    words = to_words(ids)
    boundaries = [0, *(slot for slot in range(1, len(doc)) if doc[slot] != doc[slot - 1]), len(doc)]
    spans = [
        {
            "document": doc[start] if doc[start] >= 0 else None,
            "slots": [start, stop],
            "positions": [positions[start], positions[stop - 1] + 1],
            "scored": sum(scored[start:stop]),
            "ids": ids[start:stop],
            "targets": targets[start:stop],
            "inputs_read": words[start:stop],
            "targets_read": target_words[start:stop],
        }
        for start, stop in pairwise(boundaries)
    ]
    return {**dict(zip(("epoch", "block", "row"), batch.sequence_keys[index].tolist(), strict=True)), "spans": spans}


def _show(result: dict[str, Any]) -> None:
    out, stats = sys.stdout, result["stats"]
    out.write(
        f"{result['source']}, split {result['split']}, {result['pack']}: {stats['sequences']:,} sequences per epoch, "
        f"{stats['targets']:,} targets, {100 * stats['padding_share']:.2f} % padding\n"
    )
    for batch in result["batches"]:
        out.write(
            f"\nstep {batch['step']}: {batch['rows']} sequences of {batch['slots']} ids, "
            f"{batch['targets']:,} targets, {batch['bytes']:,} bytes, {batch['padding']:,} of padding\n"
        )
        for row in batch["shown"]:
            out.write(f"\n  sequence {row['row']} of epoch {row['epoch']}\n")
            out.writelines(_span_lines(span) for span in row["spans"])
        hidden = batch["rows"] - len(batch["shown"])
        if hidden:
            out.write(f"\n  and {hidden} more sequences; --max-rows 0 shows all\n")
    out.flush()


def _span_lines(span: dict[str, Any]) -> str:
    start, stop = span["slots"]
    if span["document"] is None:
        return f"    {start}-{stop - 1}: padding\n"
    low, high = span["positions"]
    return printable(
        f"    {start}-{stop - 1}: document {span['document']} of the sequence, positions {low}-{high - 1}, "
        f"{span['scored']} scored\n"
        f"      inputs   {'|'.join(span['inputs_read'])}\n"
        f"      targets  {'|'.join(span['targets_read'])}\n"
    )
