"""`slm eval`: bits per byte with a certificate and baselines. `slm compare`: two models on the same documents."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import partial
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from slmmodel.checkpoint import RunFolder, known_runs, runs_in
from slmmodel.checks import missing_path, place_of_missing, similar_name
from slmmodel.cli.baselines import baseline_lines, best_ngram, text_baselines
from slmmodel.cli.open_by_path import (
    check_distinct,
    check_split_of_text,
    check_written,
    comparison_of,
    is_text_for_tokenizer,
    naming_packed_again,
    note_of_command,
    note_on_globs,
    note_unfinished,
    open_ids_or_text,
    refuse_run,
    refuse_wrong_check,
    result_to_check,
    validation_of,
)
from slmmodel.cli.options import CHECKPOINT_FLAGS, POSITIVE, RESAMPLES, device_option, run_tokenizer_option, step_option
from slmmodel.cli.reading import corpus_options, recorded, require_text
from slmmodel.cli.recorded import (
    begun_stages,
    data_meant,
    note_changes,
    open_mixture_of,
    split_of_mixture,
    steps_trained,
    training_data,
)
from slmmodel.cli.result_files import (
    check_result,
    load_certificate,
    proof,
    to_envelope,
    write_measured,
    write_result,
)
from slmmodel.cli.run_argument import of_tokenizer, on_texts, run_argument_of, run_here, step_meant
from slmmodel.cli.text import STDIN, Text, is_text
from slmmodel.errors import Mismatch, MissingInput, OptionError, SlmmodelError
from slmmodel.folder_lock import FolderHandle, check_in_place
from slmmodel.foreign_names import FOREIGN_VALUES
from slmmodel.run_entries import EVALUATIONS
from slmtok.cli.arguments import is_text_file, value_after, without_options
from slmtok.cli.errors import EXTRA, RUN_IS
from slmtok.cli.files import JSON, SAFETENSORS, names_tokenizer
from slmtok.cli.loss_files import lacking_losses
from slmtok.cli.options import OUTPUT, argument, arguments_of_command, choice, command, instead, is_given, option
from slmtok.cli.output import Outcome, Row, counted, print_rows, table, write_line, write_text
from slmtok.cli.progress import Progress
from slmtok.errors import SlmtokError
from slmtok.file_kinds import CERTIFICATE, LOSSES, NAMES, READERS, has_manifest, is_run, kind_of_file
from slmtok.files import free_name, resolved
from slmtok.options import ReadOptions, option_specs

if TYPE_CHECKING:
    from slmmodel.data.opening import RunData
    from slmmodel.data.source import DocumentBlock, TokenSource
    from slmmodel.evaluation.certificate import Evaluation
    from slmmodel.evaluation.scoring import Scores

N_RAREST = 20
"""Rows of the table of rare ids."""
_PRECISIONS = {**FOREIGN_VALUES["run.precision"], **dict.fromkeys(("fp64", "float64", "double"), "fp32")}
"""Types of other tools; the largest one stands for larger ones."""
NO_INTERVAL = "not available: fewer than 20 documents or 4 KiB segments"


def _data_named(value: str | None, arguments: Sequence[str]) -> str:
    """The option for data that stand as an argument. Raises `MissingInput`, and `OptionError` for a second run."""
    path = value or STDIN
    runs = [each for each in arguments if is_run(each)]
    refuse_run(path, comparison_of(runs) if len(runs) > 1 else "name the text", "text or packed data")
    if path in ("train", "val") and not Path(path).exists():
        return f"--split {path}"
    if not (Path(path).exists() or is_text(path)):
        raise missing_path(
            path, similar_name(path) or "--on DATA|TEXT, by its name; for text itself --on -, and pipe it in"
        )
    return _each_check(arguments) or on_texts(eval, arguments, "RUN")


def _each_check(arguments: Sequence[str]) -> str | None:
    """The command for each of several certificates, the first of which follows `--check`; None for other arguments."""
    checks = [word for word in arguments if kind_of_file(word) == CERTIFICATE]
    if len(checks) < 2 or "--check" not in arguments:
        return None
    rest = [word for word in arguments if word not in checks and word != "--check"]
    return " && ".join(shlex.join(["slm", "eval", *rest, "--check", each]) for each in checks)


def _run_named(value: str | None, arguments: Sequence[str]) -> str:
    """The argument for the run that `--model` names; that of lm-eval is in `--model_args pretrained=RUN`."""
    named = re.search(r"pretrained=([^,]+)", "\n".join(arguments))
    run = shlex.quote(named[1].partition("\n")[0] if named else value or "RUN")
    has_tasks = any(each.partition("=")[0] == "--tasks" for each in arguments)
    return f"an argument for the run: slm eval {run}" + f"; for tasks {_TASKS}" * has_tasks


_TASKS = "slm eval RUN --on TEXT for text of yours, slm pairs RUN FILE for sentence pairs, slm passkey or slm probe"


def _most_documents(value: str | None, arguments: Sequence[str]) -> str:
    """`--max-docs`, which limits text; without one, the validation documents of the run are scored whole."""
    text, limit = value_after(("--on",), arguments), f"--max-docs {value or 'N'}"
    whole = f"leave it out: validation documents are scored whole; --on TEXT {limit} limits text"
    return limit if text and is_text(text) else whole


_HABITS = {
    EXTRA: _data_named,
    **result_to_check("val.json", "eval"),
    **dict.fromkeys(("--data", "--dataset", "--val", "--text"), instead("--on {}", "DATA")),
    **dict.fromkeys(CHECKPOINT_FLAGS, step_meant),
    **dict.fromkeys(("--model", "--run", "--model-args"), _run_named),
    **dict.fromkeys(("--context", "--block-size", "--max-seq-len", "--max-length"), instead("--seq-len {}", "N")),
    **dict.fromkeys(("--by", "--per-domain", "--by-domain"), instead("--breakdown, which also reports bits by domain")),
    **dict.fromkeys(("--limit", "--max-samples", "--num-samples"), _most_documents),
    **dict.fromkeys(("--tasks", "--task"), instead(_TASKS)),
    **dict.fromkeys(("--output", "-o"), instead("--certificate {}", "FILE")),
}
"""Options of other programs that evaluate, each with what stands for it here."""


@command("eval", example="slm eval run --on data", habits=_HABITS)
@run_argument_of(metavar="[RUN]", required=False, help="The folder of a run; with --check, by default that of FILE.")
@option("--on", metavar="DATA|TEXT|-", help="Packed data; or text, all of it; - is stdin. By default that of training.")
@option("--split", metavar="NAME", show_default="val where there is one, else train; of --on TEXT, all",
        help="Split of the data.")  # fmt: skip
@run_tokenizer_option
@corpus_options
@option("--seq-len", metavar="N", type=POSITIVE, show_default="that of the model", help="Positions of a window.")
@option("--seq-bytes", metavar="N", type=POSITIVE, help="The length of a window in bytes of this text instead.")
@option("--stride", metavar="N", type=POSITIVE, show_default="half a window", help="Positions from window to window.")
@step_option
@option("--precision", metavar="fp32|bf16|fp16", default="fp32", help="Type of matrix products.",
        type=choice("fp32", "bf16", "fp16", foreign=_PRECISIONS))  # fmt: skip
@device_option
@option("--stateful", is_flag=True, help="Recurrent models and infini: keep the state through each document.")
@option("--baselines/--no-baselines", "with_baselines", default=True, help="Also score byte n-grams, bz2 and xz.")
@option("--breakdown", is_flag=True, help="Also report bits by token frequency, bytes, position and domain.")
@option("--losses", metavar="FILE", panel=OUTPUT, help="Write the loss of each target, for slm compare.")
@option(
    "--exposure",
    metavar="FILE",
    panel=OUTPUT,
    help="Write the ids that training hardly met, for slmtok prune --ids; report loss and norms by frequency.",
)
@option("--below", metavar="N", type=POSITIVE, default=100, needs="--exposure FILE",
        help="With --exposure: an id with fewer updates is rare.")  # fmt: skip
@option("--certificate", metavar="FILE", show_default="RUN/eval/NAME.json", panel=OUTPUT, help="Where to write it.")
@option("--check", metavar="FILE", help="Recompute a certificate and compare; exit with status 3 if it differs.")
@option("--force", is_flag=True, help="Replace an output that exists.", panel=OUTPUT)
def eval(
    run: str | None,
    on: str | None,
    split: str | None,
    tokenizer: str | None,
    read: ReadOptions,
    with_baselines: bool,
    breakdown: bool,
    losses: str | None,
    exposure: str | None,
    below: int,
    certificate: str | None,
    check: str | None,
    force: bool,
    **scoring: Any,
) -> Outcome:
    """Score a run on every byte of its validation documents, print bits per byte, and write the certificate."""
    refuse_wrong_check(check, run, "a certificate", "val.json", "eval")
    folder = RunFolder.open(_named_run(run, check, tokenizer))
    folder.handle = FolderHandle(folder.path)
    require_text(read, on)
    if scoring["step"] is not None:
        folder.step_of(scoring["step"])
    _check_windows(folder, scoring["seq_len"], scoring["seq_bytes"], scoring["stride"])
    documents = partial(open_documents, folder, on, tokenizer=tokenizer, read=read)
    if check is not None:
        _refuse_beside_check()
        return _check(folder, check, documents, scoring)
    outputs = {"losses": losses, "certificate": certificate, "exposure": exposure}
    # Whether they can be written is found out by a file, which changes the folder; text is read, which takes long.
    is_read = is_text(on if on is not None else source_name(folder))
    if is_read and on is not None:
        check_split_of_text(on, split)
    opened = None if is_read else documents(split)
    _check_outputs(folder, [tokenizer, on], outputs, force=force)
    met = _trained_on(folder, tokenizer, exposure)
    source = documents(split) if opened is None else opened
    name = _certified_name(folder, source, on, split)
    of_step = scoring["step"] if scoring["step"] != folder.result.get("step") else None
    if certificate is None:
        # Its name is known only with the documents, which may be text that was encoded.
        check_result(folder, certificate_name(name, source.split, of_step), option="--certificate")
    with naming_packed_again(on):
        found = score(folder, source, **scoring)
    result: dict[str, Any] = dict(found.certificate)
    result["baselines"] = _score_baselines_or_note(folder, source) if with_baselines else None
    if breakdown:
        result["breakdown"] = _breakdown(folder, source, found.scores)
    written = {}
    if losses is not None:
        write_measured(losses, found.losses(), force=force)
        written["losses"] = losses
    written["certificate"] = write_certificate(folder, result, name, certificate, step=of_step, force=force)
    if exposure is not None and met is not None:
        result["exposure"] = _measure_exposure(folder, met, found.scores, scoring["step"], below, exposure, force=force)
        written["exposure"] = exposure
    result["written"] = written
    return Outcome(result, lambda: _show(result, source_name(folder) if on is None else "stdin" if on == STDIN else on))


def _check_outputs(
    run: RunFolder, inputs: Sequence[str | None], outputs: dict[str, str | None], *, force: bool
) -> None:
    """Raises unless all outputs can be written, the last of the `inputs` being the data that are named."""
    trained = run.config["data"]["train"]
    sources = [trained] if isinstance(trained, str) else [source.get("path") for source in trained]
    check_distinct(**outputs)
    for name in ("losses", "exposure"):
        path = Path(outputs[name] or name)
        if resolved(path).suffix == ".json" and resolved(path).parent == resolved(run.path / EVALUATIONS):
            # Certificates of the run are written there.
            fix = f"--{name} {path.with_suffix(f'.{name}')}"
            raise OptionError(f"--{name} {outputs[name]!r} has the name of a certificate", fix=fix, option=name)
    read = [run.path, *inputs, *(sources if inputs[-1] is None else [])]
    for name, output in outputs.items():
        check_written(output, name, read, force=force, content=SAFETENSORS if name == "losses" else JSON)
    if outputs["certificate"] is None:
        check_result(run, option="--certificate")


def _certified_name(run: RunFolder, source: TokenSource, on: str | None, split: str | None) -> str:
    """What the documents are called in the name of a certificate; "" for those of the run, unless they have changed."""
    if on is not None:
        return "stdin" if on == STDIN else Path(on).stem if Path(on).is_file() else Path(on).name
    if note_changes(run, source, split):
        return Path(source_name(run)).stem
    return ""


def source_name(run: RunFolder) -> str:
    """The path of the validation documents of a run."""
    data = run.config["data"]
    return str(data["train"] if data.get("val", "auto") in ("auto", "none") else data["val"])


def _named_run(run: str | None, check: str | None, tokenizer: str | None) -> str:
    """The run that is named, or that of the certificate to check. Raises `OptionError` where there is neither."""
    if run is not None:
        return run
    if check is not None and resolved(check).parent.name == "eval":
        return str(resolved(check).parents[1])
    if check is not None and Path(check).exists():
        load_certificate(check)
    if tokenizer and is_text_for_tokenizer(tokenizer):
        fact = f"RUN is missing, and --tokenizer {tokenizer!r} is text, not a tokenizer"
        raise OptionError(fact, fix=shlex.join(["slm", "eval", run_here(), "--on", tokenizer]), option="run")
    fact = "RUN is missing" + (f"; {tokenizer} is a tokenizer" if tokenizer else "")
    if tokenizer and (measured := of_tokenizer(tokenizer, click.get_current_context())):
        purposes = "slm eval scores a model, slmtok eval measures a tokenizer"
        raise OptionError(fact, limit=purposes, fix=measured, option="run")
    fix = shlex.join(["slm", "eval", run_here(), *([] if check is None else ["--check", check])])
    fix += f", or slmtok eval {tokenizer} --on TEXT, which needs no model" if tokenizer else ""
    limit = RUN_IS if tokenizer and not Path(tokenizer).exists() else None
    raise OptionError(fact, limit=limit, fix=fix, option="run")


def _check_windows(run: RunFolder, seq_len: int | None, seq_bytes: int | None, stride: int | None) -> None:
    """Raises `OptionError` for options that exclude each other or lie outside the window, before torch is imported."""
    if seq_len is not None and seq_bytes is not None:
        raise OptionError("--seq-len and --seq-bytes exclude each other", fix="give one of them", option="seq_len")
    length = seq_len or int(run.config["model"]["seq_len"])
    if stride is not None and stride > length:
        raise OptionError(
            f"--stride {stride} is longer than a window",
            limit=f"1 to {length}",
            fix=f"--stride {length}",
            option="stride",
        )


def _refuse_beside_check() -> None:
    """Raises `OptionError` for options that a check takes from the certificate, or that write something."""
    allowed = {"run", "on", "tokenizer", "step", "device", "check", "force", "quiet"}
    allowed |= {name for name, _, _ in option_specs(ReadOptions)}
    context = click.get_current_context()
    # A check scores no baselines.
    allowed |= set() if context.params["with_baselines"] else {"with_baselines"}
    for param in context.command.params:
        given = context.get_parameter_source(str(param.name)) == ParameterSource.COMMANDLINE
        if given and param.expose_value and param.name not in allowed:
            raise OptionError(
                f"--check together with {param.opts[0]}",
                limit="a check scores as its certificate says, and writes nothing",
                fix=f"leave {param.opts[0]} out",
                option="check",
            )


def _check(
    run: RunFolder, path: str, open_split: Callable[[str | None], TokenSource], scoring: dict[str, Any]
) -> Outcome:
    """Recomputes a certificate with its own settings; status 3 where it differs."""
    from slmmodel.evaluation.certificate import differences

    stated = load_certificate(path)
    recorded = stated["scoring"]
    stateful = recorded["seq_len"] == "unlimited"
    scoring |= {
        "seq_len": None if stateful else recorded["seq_len"],
        "seq_bytes": None,
        "stride": recorded["stride"],
        "precision": recorded["precision"],
        "stateful": stateful,
    }
    source = _certified_source(run, path, stated["documents"]["split"], open_split)
    data = str(stated["documents"]["data"])
    computed = score(run, source, **scoring).certificate if source.digest == data else None
    weights = computed["model"]["weights"] if computed else run.weights_digest(scoring["step"])
    others = ["other weights"] * (weights != stated["model"]["weights"])
    of_run = resolved(path).parents[1] if resolved(path).parent.name == EVALUATIONS else run.path
    is_of_another = bool(others) and RunFolder(of_run).exists() and not of_run.samefile(run.path)
    rows: list[Row] = [("its run", shlex.join(["slm", "eval", "--check", path]))] if is_of_another else []
    if computed:
        wrong = differences(stated, computed)
    else:
        wrong = [f"model.weights is {stated['model']['weights'][:16]}…; {weights[:16]}… here"] * len(others)
        wrong += [f"documents.data is {data[:16]}…; {source.digest[:16]}… here: --on DATA names the scored data"]
        others.append("other documents")
    bits = {name: computed and computed[name] for name in ("bpb_total", "bpb_content")}
    rows = [("bpb_total", "" if computed is None else f"{bits['bpb_total']:.4f}"), ("differs", "\n".join(wrong)), *rows]
    about = f", it is about {' and '.join(others)}" if others else ""
    return proof(path, wrong, rows, about, **bits)


def _certified_source(
    run: RunFolder, path: str, split: str | None, open_split: Callable[[str | None], TokenSource]
) -> TokenSource:
    """The documents of a certificate. Raises `OptionError` where the data have no split of this name: it is about
    other documents.
    """
    from slmmodel.data.source import NoSuchSplitError

    try:
        return open_split(split)
    except NoSuchSplitError as error:
        from slmmodel.cli.text_source import ALL

        # A certificate in the folder of its run has the name of the text.
        name = Path(path).stem.removesuffix(f"-{split}")
        beside = [str(each) for each in Path().glob(f"{escape(name)}.*") if is_text_file(str(each))]
        scored = "DATA" if split != ALL else beside[0] if len(beside) == 1 else "TEXT"
        rest = without_options(arguments_of_command(), ("--on",))
        raise OptionError(
            f"{path!r} is about other documents, whose split is {split!r}: {error.fact}",
            where=error.where,
            limit=error.limit,
            fix=shlex.join(["slm", "eval", *rest, "--on", scored]),
            option="check",
        ) from None


# Shared by eval, train and demo.


def open_documents(
    run: RunFolder,
    on: str | None = None,
    split: str | None = None,
    tokenizer: str | None = None,
    read: ReadOptions | None = None,
    fix: str = "--on DATA",
) -> TokenSource:
    """The documents to score: those of `on`, or the validation documents of training, read as training read them.

    tokenizer: where the run has none. read: how the text of `on` is read. fix: what names documents.
    Raises what opening raises.
    """
    from slmmodel.data_config import DataConfig

    if tokenizer is not None:
        # Packed data are read without it, and one of another vocabulary would be ignored.
        Text(tokenizer, run.vocab, str(run.path))
    path, wanted = (on, split) if on is not None else DataConfig.model_validate(run.config["data"]).scored(split)
    if path is None:
        mixed = open_mixture_of(run)
        assert mixed is not None
        return split_of_mixture(run, mixed, wanted or "val")
    if on is None and path in ("", STDIN):
        where = "stdin" if path else "texts in memory"
        raise MissingInput(
            f"the run was trained on {where}", where=str(run.path), fix=f"name documents: {fix}", path=path
        )
    if on is None and not is_text(path) and not Path(path).exists():
        raise MissingInput(
            f"the data of the run are not at {path!r} any more",
            where=str(run.path),
            fix=f"name them: {fix}" if (meant := data_meant(run, path)) == "DATA" else fix.replace("DATA", meant),
            path=path,
        )
    if on is not None and read is not None and is_text(on):
        note_on_globs([on], read)
    if on is not None and wanted in ("train", "val") and is_text(on):
        part = "holds out" if wanted == "val" else "learns from"
        note_of_command(f"--split {wanted} is the part of a text that training {part}; without it, all of {on} is read")
    if on is None and split is None and not is_text(path):
        # Ids that have no split val are scored as a whole; of a text, training held out a part.
        wanted = None
    reading = recorded(run) if on is None else read
    return open_ids_or_text(path, wanted, run.vocab, tokenizer or run.tokenizer, reading, run.path)


def score(run: RunFolder, source: TokenSource, *, device: str = "auto", **scoring: Any) -> Evaluation:
    """Scores and certificate; `scoring` are options of `evaluate`.

    Raises `Unreadable` where another folder was put in the place of the run meanwhile.
    """
    from slmmodel.evaluation.certificate import evaluate
    from slmmodel.hardware import device_for

    with Progress() as progress:
        note_unfinished(run, scoring.get("step"), progress)
        report = partial(progress, "scoring")
        found = evaluate(run, source, device=str(device_for(device)), progress=report, **scoring)
    # The digest of the weights is that of the folder that was scored.
    check_in_place(run.handle)
    return found


def write_certificate(
    run: RunFolder,
    result: dict[str, Any],
    data: str = "",
    path: str | None = None,
    *,
    step: int | None = None,
    force: bool = False,
) -> str:
    """Writes a certificate atomically; gives its path, by default `RUN/eval/DATA-SPLIT.json`.

    step: that of a checkpoint before the end of the run, which has a file of its own.
    """
    name = certificate_name(data, result["documents"]["split"], step)
    return write_result(run, name, to_envelope(result).to_bytes(), path, option="--certificate", force=force)


def certificate_name(data: str, split: str | None, step: int | None) -> str:
    """The name of a certificate in the folder of evaluations; `step` is that of a checkpoint before the end."""
    parts = (data, split, f"step-{step}" if step is not None else "")
    return f"{'-'.join(filter(None, parts)) or 'data'}.json"


def score_baselines(run: RunFolder, source: TokenSource) -> dict[str, Any] | None:
    """Baselines on decoded documents; None without a tokenizer or training data.

    Raises `BytesDisagree` where documents do not have the bytes of the data.
    """
    if run.tokenizer is None or (train := _training_block(run)) is None:
        return None
    return text_baselines(Text(run.tokenizer, run.vocab), train, source.block(0))


def _score_baselines_or_note(run: RunFolder, source: TokenSource) -> dict[str, Any] | None:
    """As `score_baselines`; a note says why there are none, where the option asked for them."""
    found = score_baselines(run, source)
    if found is None and is_given("with_baselines"):
        reason = "has no tokenizer" if run.tokenizer is None else "does not find the data of its training as they were"
        note_of_command(f"no baselines: the run {str(run.path)!r} {reason}")
    return found


def _training_block(run: RunFolder) -> DocumentBlock | None:
    """The first block of the training data; None where they are not there any more, with a note on others there."""
    try:
        block: DocumentBlock = training_data(run).train.block(0)
    except MissingInput:
        return None
    except Mismatch as error:
        note_of_command(f"left out what compares with the training data: {error.fact}")
        return None
    return block


def _breakdown(run: RunFolder, source: TokenSource, scores: Scores) -> dict[str, Any]:
    """Tables of bits by properties of targets and documents."""
    from slmmodel.evaluation import breakdown

    train = _training_block(run)
    counts = None if train is None else breakdown.target_counts(train, run.vocab.n_vocab)
    return breakdown.tables(scores, source, counts, worst=True)


def _trained_on(run: RunFolder, tokenizer: str | None, exposure: str | None) -> RunData | None:
    """The training data of a run, for --exposure; None without it.

    Raises `OptionError` where they are not there any more, and for stdout as its file.
    """
    if exposure is None:
        return None
    if exposure == STDIN:
        raise OptionError("--exposure - names no file", fix="--exposure dead.json", option="exposure")
    path = run.config["data"]["train"]
    try:
        if path not in ("", STDIN):
            return training_data(run, tokenizer=tokenizer)
        gone = "were read from stdin" if path else "were texts in memory"
    except MissingInput as error:
        gone = f"are missing: {error.fact}"
    except Mismatch as error:
        gone = f"are others now: {error.fact}"
    raise OptionError(
        f"--exposure counts the ids of the training data, which {gone}",
        where=str(run.path / "config.yaml"),
        fix="put them back, or leave --exposure out",
        option="exposure",
    )


def _measure_exposure(
    run: RunFolder, met: RunData, scores: Scores, step: int | None, below: int, output: str, *, force: bool
) -> dict[str, Any]:
    """Writes the rare ids with the values of all ids; gives the tables of the report."""
    from slmmodel.data.source import blocks_of
    from slmmodel.evaluation.exposure import measure, trained_targets
    from slmtok.token_text import escape_token

    vocab, targets = run.vocab, trained_targets(run, step)
    last = steps_trained(run, step)
    begun = begun_stages(met, last)
    ends = [*(first for first, _ in begun[1:]), last + 1]
    stages = [
        (blocks_of(source), targets * (end - first) / last) for (first, source), end in zip(begun, ends, strict=True)
    ]
    found = measure(scores, run.model(step=step), vocab, stages)
    rare = found.rare(vocab, below).tolist()
    by_id = {name: getattr(found, name).tolist() for name in found._fields}
    content = {"ids": rare, "below": below, "fingerprint": vocab.fingerprint, "by_id": by_id}
    write_measured(output, (json.dumps(content) + "\n").encode(), force=force)
    text = None if run.tokenizer is None else Text(run.tokenizer, vocab)
    rows = [
        {**found.row(id), "token": None if text is None else escape_token(text.data([id]))} for id in rare[:N_RAREST]
    ]
    never = sum(found.updates[id] == 0 for id in rare)
    return {
        "below": below,
        "targets": targets,
        "learned": int((vocab.token_nbytes > 1).sum()),
        "rare": len(rare),
        "never": int(never),
        "by_frequency": found.by_frequency(),
        "rarest": rows,
    }


# The table.


def _show(result: dict[str, Any], data: str) -> None:
    """data: what was scored."""
    sums, scoring, interval = result["sums"], result["scoring"], result["interval"]
    per_target, written = result["conversions"], result["written"]
    is_derived = result["documents"]["bytes_from"] == "derived"
    between = NO_INTERVAL
    if interval is not None:
        units = f"{interval['level']:.0%}, {interval['n_units']:,} x {interval['unit']}"
        between = f"{interval['low']:.4f} to {interval['high']:.4f} ({units})"
    scored = f"{sums['bytes']:,} bytes of {counted(sums['documents'], 'document')}, {sums['targets']:,} ids, each once"
    windows = f"seq_len {scoring['seq_len']}, stride {scoring['stride'] or 'none'}, {scoring['precision']}"
    per_id = (
        f"{per_target['nats_per_target']:.4f} nats, perplexity {per_target['perplexity_per_target']:.2f}, "
        f"{per_target['bytes_per_target']:.3f} bytes on this text"
    )
    # Documents that store the opening id alone are closed by it too.
    closing = "<s>" if result["documents"]["frame"] == "bos" else "</s>"
    print_rows(
        [
            ("bpb_total", f"{result['bpb_total']:.4f}   every byte and every {closing}: rank models by this"),
            ("bpb_content", f"{result['bpb_content']:.4f}   without {closing}"),
            ("interval", between),
            ("scored", scored),
            ("data", data),
            ("bytes", "derived from the ids, so that they agree by construction" if is_derived else ""),
            ("windows", windows),
            ("per id", per_id),
            ("baselines", baseline_lines(result["baselines"], sums["bytes"]) if result["baselines"] else ""),
            *((name, _table_lines(rows)) for name, rows in result.get("breakdown", {}).items()),
            ("certificate", written["certificate"]),
            ("losses", written.get("losses", "")),
            ("rare ids", written.get("exposure", "")),
        ]
    )
    if result["baselines"]:
        order, bits = best_ngram(result["baselines"])
        if result["bpb_total"] >= bits:
            used = result["baselines"]["bytes"]
            part = f" on the first {used:,} bytes" if used < sums["bytes"] else ""
            write_line(f"A byte {order}-gram is better, with {bits:.4f} bits per byte{part}: train longer or larger.")
    if "exposure" in result:
        _show_exposure(result["exposure"])


def _show_exposure(found: dict[str, Any]) -> None:
    """Two tables: by frequency, and of the rarest ids."""
    groups, rarest = found["by_frequency"], found["rarest"]
    is_tied = all(row["embedding_norm"] == row["head_norm"] for row in groups)
    norms = {"embedding_norm": "norm"} if is_tied else {"embedding_norm": "norm", "head_norm": "norm in the head"}

    def values(row: dict[str, Any], updates: float) -> list[str]:
        bits = row["bits_per_target"]
        scored = [f"{row['targets']:,}", "" if bits is None else f"{bits:.3f}"]
        return [f"{updates:,.{0 if updates >= 10 else 1}f}", *scored, *(f"{row[name]:.3f}" for name in norms)]

    lines = [[row["group"], f"{row['ids']:,}", *values(row, row["least_updates"])] for row in groups]
    write_text("\n" + table(["expected updates", "ids", "at least", "scored", "bits each", *norms.values()], lines))
    write_line(
        f"{found['rare']:,} of {found['learned']:,} learned ids have fewer than {found['below']:,} expected updates; "
        f"{found['never']:,} of them are not in the training data at all."
    )
    if 2 * found["rare"] > found["learned"]:
        write_line(
            f"That is most of the vocabulary: the run had {found['targets']:,} targets, which is little training for "
            "it. Do not prune by this list."
        )
    if rarest:
        lines = [[str(row["id"]), row["token"] or "", *values(row, row["updates"])] for row in rarest]
        write_text(
            "\n" + table(["id", "token", "expected updates", "scored", "bits each", *norms.values()], lines, left=(1,))
        )


def _with_losses(compared: Sequence[str], others: Collection[str]) -> str:
    """The commands that compare losses in the place of other results: those beside a result, or of its run."""
    commands, files, remark = [], [], ""
    losses = next((path for path in compared if path not in others and kind_of_file(path) == LOSSES), None)
    for path in compared:
        beside = str(Path(path).with_suffix(".losses"))
        found = (Path(path), None) if is_run(path) else RunFolder(Path(path)).enclosing
        if path not in others or kind_of_file(beside) == LOSSES:
            files.append(beside if path in others else path)
            continue
        name = f"{resolved(found[0]).name if found else Path(path).stem}.losses"
        files.append(free_name(name))
        on = ["--on", "TEXT"] if _is_of_text(path) else []
        if losses is not None and found and _is_other_text(losses, RunFolder(found[0])):
            on, remark = ["--on", "TEXT"], f"  # TEXT stands for the text that {losses} is of"
        commands.append(shlex.join(["slm", "eval", str(found[0]) if found else "RUN", *on, "--losses", files[-1]]))
    files += ["OTHER.losses"] if len(files) == 1 else []
    if "OTHER.losses" in files:
        remark += f"{'; ' if remark else '  # '}OTHER.losses stands for the losses of another run"
    return " && ".join([*commands, shlex.join(["slm", "compare", *files])]) + remark


def _is_other_text(losses: str, run: RunFolder) -> bool:
    """Whether losses are of other documents than those of the validation of a run; False where either is unknown."""
    from slmmodel.evaluation import comparison

    with suppress(SlmmodelError):
        digest = comparison.read_losses(losses).about.get("documents")
        return digest is not None and validation_of(run)[1] not in (None, digest)
    return False


def _is_of_text(path: str) -> bool:
    """Whether a file is the certificate of an evaluation of text, which `--on` names, and not of the data of a run."""
    with suppress(SlmmodelError, SlmtokError):
        return bool(load_certificate(path)["documents"]["split"] == "all")
    return False


def _table_lines(rows: list[dict[str, Any]]) -> str:
    def text(item: object) -> str:
        return f"{item:.4f}" if isinstance(item, float) else str(item)

    return "\n".join("  ".join(f"{key} {text(item)}" for key, item in row.items()) for row in rows)


def _refuse_other_files(a: str, b: str) -> None:
    """Raises `OptionError` for runs, their results and tokenizers in the place of losses, `MissingInput` where one of
    two wrong files does not exist; the fix scores the runs.
    """
    if is_run(a) and is_run(b) and a != b:
        raise OptionError(f"{a!r} and {b!r} are runs, not files of losses", fix=comparison_of([a, b]), option="a")
    inside = [(Path(each), None) if is_run(each) else RunFolder(Path(each)).enclosing for each in (a, b)]
    runs = [None if place is None else str(place[0]) for place in inside]
    is_part = [
        run and (Path(each).suffix == ".json" or Path(each).is_dir()) for each, run in zip((a, b), runs, strict=True)
    ]
    if all(is_part) and runs[0] != runs[1]:
        are_files = Path(a).is_file() and Path(b).is_file()
        fact = f"{a!r} and {b!r} are {'results' if are_files else 'parts'} of runs, not files of losses"
        raise OptionError(fact, fix=comparison_of([str(run) for run in runs]), option="a")
    if names_tokenizer(a) and names_tokenizer(b):
        fact = f"{a!r} and {b!r} are tokenizers, not files of losses"
        raise OptionError(fact, fix=shlex.join(["slmtok", "diff", a, b]), option="a")
    kinds = {path: NAMES[kind] for path in (a, b) if (kind := kind_of_file(path)) in READERS and kind != LOSSES}
    kinds |= {path: "a run" for path in (a, b) if is_run(path)}
    others = [path for path in (a, b) if path not in kinds and kind_of_file(path) != LOSSES]
    are_files = not kinds and all(Path(path).is_file() for path in others)
    if a != b and others and len(kinds) + len(others) == 2 and not are_files:
        raise _two_faults((a, b), kinds)
    if kinds:
        path, what = next(iter(kinds.items()))
        compared = (a,) if resolved(a) == resolved(b) else (a, b)
        fact, fix = f"{path!r} is {what}, not a file of losses", _with_losses(compared, kinds)
        raise OptionError(fact, fix=fix, option="a" if path == a else "b")


def _two_faults(compared: tuple[str, str], kinds: Mapping[str, str]) -> SlmmodelError:
    """The error for two paths that are no losses: what each is, and the fix for the runs and results among them.

    kinds: what each of these is. A path that does not exist is the run of nearly its name, where there is one.
    """
    facts, meant = list[str](), dict[str, str]()
    for path in compared:
        folder = "packed data" if has_manifest(path) else "a folder"
        what = kinds.get(path) or (folder if Path(path).is_dir() else "not a file of losses")
        facts.append(f"{path!r} is {what}" if Path(path).exists() else f"{path!r} does not exist")
        near = [] if Path(path).exists() else get_close_matches(path, set(runs_in(Path())) - {*compared}, n=1)
        # The name of losses that are missing stays: they may still be written.
        is_lost = not Path(path).exists() and Path(path).suffix == ".losses"
        meant[path] = next(iter(near), path if path in kinds or is_lost else "OTHER.losses")
    named, limit = list(meant.values()), known_runs(Path())
    if named[0] != named[1] and all(map(is_run, named)):
        fix = comparison_of(named)
    elif kinds or any(map(is_run, named)):
        fix = _with_losses(named, {path for path in named if path in kinds or is_run(path)})
    else:
        fix = "name two files that slm eval RUN --losses FILE writes"
    fact = f"{' and '.join(facts)}; slm compare takes two files of losses"
    if missing := [path for path in compared if not Path(path).exists()]:
        return MissingInput(fact, where=place_of_missing(missing[0]), limit=limit, fix=fix, path=missing[0])
    return OptionError(fact, limit=limit, fix=fix, option="a")


@command("compare", example="slm compare a.losses b.losses", habits=lacking_losses("slm compare"))
@argument("a", metavar="A", help="Losses of one model, from slm eval RUN --losses A.")
@argument("b", metavar="B", help="Losses of the other model, from slm eval RUN --losses B.")
@option("--resamples", metavar="N", type=RESAMPLES, default=10_000, help="Resamples of the bootstrap.")
@option("--content", is_flag=True, help="Leave out closing specials: compare bpb_content.")
def compare(a: str, b: str, resamples: int, content: bool) -> Outcome:
    """Compare the bits per byte of two models, document by document, with a confidence interval."""
    from slmmodel.evaluation import comparison

    _refuse_other_files(a, b)
    first, second = comparison.read_losses(a), comparison.read_losses(b)
    if Path(a).samefile(b):
        note_of_command(f"A and B are the same file, {a!r}; slm eval RUN --losses FILE writes that of another model")
    found = comparison.compare(first, second, content=content, resamples=resamples)
    interval = found.interval
    verdict = verdict_of(interval)
    name = "bpb_content" if content else "bpb_total"
    relative = found.difference / found.bpb_b if found.bpb_b else None
    result: dict[str, Any] = {
        **found._asdict(),
        "interval": None if interval is None else interval._asdict(),
        "relative": relative,
        "verdict": verdict,
        "of": name,
    }
    between = "" if interval is None else f"{interval.low:+.4f} to {interval.high:+.4f} ({interval.level:.0%}, paired)"
    rows: list[Row] = [
        ("A", f"{found.bpb_a:.4f}   {a}"),
        ("B", f"{found.bpb_b:.4f}   {b}"),
        # A share of 0 does not exist.
        ("A minus B", f"{found.difference:+.4f}" + ("" if relative is None else f"   {100 * relative:+.2f} %")),
        ("interval", between),
        ("documents", f"{found.documents:,}; A needs fewer bits on {found.a_better:,}"),
        ("verdict", verdict),
    ]
    return Outcome(result, lambda: print_rows(rows, title=f"{name}, bits per byte"))


def verdict_of(interval: Any) -> str:
    """The conclusion from an interval of A minus B, for these documents only: other seeds may differ."""
    if interval is None:
        return NO_INTERVAL
    if interval.low <= 0 <= interval.high:
        return "no decision: the interval contains 0"
    return f"{'A' if interval.high < 0 else 'B'} is better on these documents"
