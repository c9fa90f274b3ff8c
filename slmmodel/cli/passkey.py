"""`slm passkey`: how well a model finds a number in long filler, by length and depth, with a heat map."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from slmmodel.checkpoint import RunFolder
from slmmodel.cli.curves import check_figure, figure_bytes, figure_class
from slmmodel.cli.open_by_path import (
    RunContext,
    check_distinct,
    check_written,
    open_run,
    refuse_wrong_check,
    result_to_check,
)
from slmmodel.cli.options import (
    BOUNDED,
    COUNT,
    COUNT_HABITS,
    MAX_LENGTH,
    OPENING,
    SEED,
    numbers,
    opening_options,
    run_argument,
    run_as_argument,
)
from slmmodel.cli.result_files import PASSKEY, check_result, identity, load_result, proof, save
from slmmodel.cli.run_argument import trained_anew
from slmmodel.cli.text import Text
from slmmodel.data_config import DataConfig
from slmmodel.decoding_options import opening_ids
from slmmodel.errors import InvalidInput, OptionError
from slmmodel.folder_lock import check_in_place
from slmmodel.sizes import counted, format_bytes, listed, round_up
from slmtok.cli.files import JSON
from slmtok.cli.options import OUTPUT, AmbiguousError, Parsed, command, option
from slmtok.cli.output import Outcome, print_rows, table, write_text
from slmtok.cli.progress import Progress

if TYPE_CHECKING:
    from slmmodel.cli.passkey_text import Task, Template
    from slmmodel.evaluation.retrieval import Recall
    from slmmodel.models.config import ModelConfig

MAX_BATCH_IDS = 1 << 16
"""Ids of prompts that are read at once."""
SHADES = " ░▒▓█"
IDS_PER_K = 1024
MAX_DIGITS = 9


def _lengths(text: str) -> tuple[int, ...]:
    """`512,1K,4K`: K is 1,024."""
    found = [re.fullmatch(r"(\d+)([kK]?)", part.strip()) for part in text.split(",")]
    if not all(found):
        raise ValueError
    lengths = tuple(int(match[1]) * (IDS_PER_K if match[2] else 1) for match in found if match)
    if max(lengths) > MAX_LENGTH:
        raise AmbiguousError(f"takes lengths up to {MAX_LENGTH:,} ids, not {max(lengths):,}", [str(MAX_LENGTH)])
    return lengths


def _depths(text: str) -> tuple[float, ...]:
    """Per cents; raises `AmbiguousError` for `0.5`, which may be a share: `0.5%` is none."""
    parts = [part.strip() for part in text.split(",")]
    depths = tuple(float(part.removesuffix("%")) for part in parts)
    if not all(0 <= depth <= 100 for depth in depths):
        raise ValueError
    if any(0 < depth < 1 and not part.endswith("%") for depth, part in zip(depths, parts, strict=True)):
        per_cent = ",".join(f"{depth:g}%" for depth in depths)
        meant = [",".join(f"{100 * depth:g}" for depth in depths)] if max(depths) <= 1 else []
        raise AmbiguousError(f"takes per cents, and {text!r} may be a share", [*meant, per_cent])
    return depths


class MeantLengths(tuple[int, ...]):
    """The lengths that another notation means, which is refused where those that the run can have are known."""

    given: str


def _lengths_or_meant(text: str) -> tuple[int, ...]:
    try:
        return _lengths(text)
    except AmbiguousError:
        raise
    except ValueError:
        meant = MeantLengths(_lengths(listed(text, k=IDS_PER_K)))
        meant.given = text
        return meant


_EXPECTED = "lengths in ids such as 512,1K,4K (K is 1,024)"
LENGTHS = Parsed(_lengths_or_meant, expects=_EXPECTED)
DEPTHS = numbers(_depths, "per cents from 0 to 100 such as 0,50,100")


@command(
    "passkey",
    example="slm passkey run --lengths 256 --depths 0,50,100 --samples 5",
    habits={**run_as_argument("passkey"), **result_to_check("passkey.json", "passkey"), **COUNT_HABITS},
)
@run_argument
@option("--lengths", metavar="N,...", type=LENGTHS,
        show_default="the seq_len of the model, and half of it if the task fits",
        help="Ids of prompt and answer together; 1K is 1,024.")  # fmt: skip
@option("--depths", metavar="P,...", type=DEPTHS, default=tuple(range(0, 101, 10)), show_default="0,10,...,100",
        help="Per cent of the filler before the number: 0 is the start, 100 the end.")  # fmt: skip
@option("--samples", metavar="N", type=BOUNDED, default=10, help="Numbers of each length and depth.")
@option("--digits", metavar="N", type=COUNT, default=5, help="Digits of a number, 2 to 9.")
@option("--seed", metavar="N", type=SEED, default=0, help="Seed of the numbers.")
@option("--max-new", "max_new", metavar="N", type=BOUNDED, default=15, help="Ids that are generated, greedily.")
@option("--ignore-memory", is_flag=True, help="A control for infini: gates 0, so only the last segment is read.")
@option("--template", metavar="FILE", help="Own sentences as YAML: intro, filler, needle, question, answer.")
@opening_options
@option("--check", metavar="FILE", help="Recompute a result and compare; exit with status 3 if it differs.")
@option("--output", "-o", metavar="FILE", show_default="RUN/eval/passkey.json", panel=OUTPUT,
        help="Where to write the result.")  # fmt: skip
@option("--plot", metavar="FILE", panel=OUTPUT, help="Draw the heat map: .png, .svg or .html; needs matplotlib.")
@option("--force", is_flag=True, help="Replace an output that exists.", panel=OUTPUT)
def passkey(
    run: str, check: str | None, output: str | None, plot: str | None, force: bool, template: str | None, **options: Any
) -> Outcome:
    """Hide a number in filler text, ask for it at the end, and print the share of right answers by length and depth.

    Every share has its 95 % interval. Lengths beyond the training length are run with a warning where the model has no
    context limit.
    """
    from slmmodel.cli.passkey_text import Template, load_template

    refuse_wrong_check(check, run, "a result of slm passkey", "passkey.json", "passkey")
    check_distinct(output=output, plot=plot)
    check_written(output, "output", [run, template, options["tokenizer"]], force=force, content=JSON)
    if plot is not None:
        check_figure(plot, force=force, option="--plot")
    if not 2 <= options["digits"] <= MAX_DIGITS:
        fact = f"--digits is {options['digits']}"
        raise OptionError(fact, limit="2 to 9", fix="--digits 5", option="digits")
    opening = {name: options.pop(name) for name in OPENING}
    sentences = load_template(template) if template else Template()
    stated = None if check is None else load_result(check, PASSKEY)
    if stated is not None:
        options, sentences = dict(stated["settings"]), Template(**stated["template"])
    _check_tasks(run, opening["tokenizer"], sentences, **options)
    context = open_run(run, **opening)
    name = "passkey-ignore-memory.json" if options["ignore_memory"] else "passkey.json"
    if check is None and output is None:
        check_result(context.run, name, option="-o")
    result, warnings = measure(context, sentences, opening["step"], **options, recomputes=stated is not None)
    check_in_place(context.run.handle)
    if check is not None and stated is not None:
        return _checked(check, stated, result)
    write = partial(save, context.run, PASSKEY, result, output=output, force=force, name=name)
    try:
        # Drawn before anything is written: an end between the two files would leave a result that no command draws.
        pictures = [] if plot is None else [(plot, heat_map(result, plot))]
    except Exception:
        write()
        raise
    written = {"result": write(pictures=pictures), **({} if plot is None else {"plot": plot})}
    return Outcome({**result, "written": written}, lambda: _show(result, written), warnings=warnings)


def _check_tasks(
    path: str, tokenizer: str | None, template: Template, *, lengths: Sequence[int] | None, samples: int, **sizes: Any
) -> None:
    """Raises `InvalidInput` and `OptionError` for tasks that cannot be, before torch is imported."""
    from slmmodel.cli.passkey_text import TaskMaker
    from slmmodel.models import config_from_dict

    run, digits = RunFolder.open(path), sizes["digits"]
    config = config_from_dict(run.config["model"])
    if (file := tokenizer or run.tokenizer) is None:
        return
    text, opening = Text(file, run.vocab, path), opening_ids(run.vocab)
    maker, key = TaskMaker(text, opening, template, digits=digits, max_new=sizes["max_new"]), "9" * digits
    _check_task(run, config, maker.least(key), lengths or ())
    _check_samples(samples, digits)
    _check_lengths(config, lengths or (), maker.least(key))


def _check_task(run: RunFolder, config: ModelConfig, least: int, lengths: Sequence[int]) -> None:
    """Raises `InvalidInput` for a context that is shorter than the task without filler, which has `least` ids."""
    if least > config.max_context:
        needed = round_up(max(least, *lengths, 0), 64)
        batch = max(int(run.config["run"]["batch_tokens"]) // needed, 1) * needed
        sets = ["--set", f"model.seq_len={needed}", "--set", f"run.batch_tokens={batch}"]
        longer = trained_anew(run, sets) or f"a run with model.seq_len {needed}"
        raise InvalidInput(
            f"the passkey task does not fit into the context of the model, {config.seq_len:,} ids",
            where=f"model.arch {config.arch}, whose positions end at seq_len",
            limit=f"{least:,} ids without any filler",
            fix=f"{longer}, or shorter sentences with --template FILE",
        )


def _check_lengths(config: ModelConfig, lengths: Sequence[int], least: int) -> None:
    """Raises `OptionError` for lengths in another notation, and `InvalidInput` for lengths that the run cannot have.

    least: ids of the task without filler.
    """
    possible = dict.fromkeys(min(max(length, least), config.max_context) for length in lengths)
    fix = f"--lengths {','.join(map(str, possible))}"
    without_filler = f"{least:,} ids without any filler; --template FILE may have shorter sentences"
    if isinstance(lengths, MeantLengths):
        fact = f"--lengths takes {_EXPECTED}, not {lengths.given!r}"
        raise OptionError(fact, where="slm passkey", limit=without_filler, fix=fix, option="lengths")
    if lengths and min(lengths) < least:
        fact = f"the passkey task does not fit into {min(lengths):,} ids"
        raise InvalidInput(fact, where="--lengths", limit=without_filler, fix=fix)
    if lengths and max(lengths) > config.max_context:
        raise InvalidInput(
            f"a length of {max(lengths):,} ids is beyond the context of the model",
            where=f"model.arch {config.arch}, whose positions end at seq_len",
            limit=f"seq_len {config.seq_len:,}; infini and recurrent models have no such limit",
            fix=fix,
        )


def _check_max_new(max_new: int, least: int) -> None:
    """Raises `OptionError` for fewer generated ids than the longest answer has: a model could not be right there."""
    if max_new < least:
        fact = f"--max-new is {max_new}, and an answer has {counted(least, 'id')}"
        raise OptionError(
            fact, where="slm passkey", limit=f"{least} or more", fix=f"--max-new {least}", option="max_new"
        )


def _check_samples(samples: int, digits: int) -> None:
    """Raises `OptionError` for more samples than different numbers: equal tasks have equal answers."""
    from slmmodel.cli.passkey_text import evaluation_numbers

    if samples > (most := evaluation_numbers(digits)):
        raise OptionError(
            f"--samples is {samples:,}, and {most:,} different numbers of {digits} digits are for evaluation",
            where="slm passkey",
            limit=f"{most:,}: the same task has the same answer",
            fix=f"--samples {most}" + f", or --digits {digits + 1}" * (digits < MAX_DIGITS),
            option="samples",
        )


def _notes_on_half(seq_len: int, least: int) -> tuple[str, ...]:
    """A note where the task without filler, of `least` ids, does not fit into half of the length of training."""
    if least <= seq_len // 2:
        return ()
    return (f"half of seq_len, {seq_len // 2:,} ids, is left out: the task has {least:,} ids without any filler",)


def measure(
    context: RunContext,
    template: Template,
    step: int | None = None,
    *,
    lengths: Sequence[int] | None,
    depths: Sequence[float],
    samples: int,
    digits: int,
    seed: int,
    max_new: int,
    ignore_memory: bool = False,
    recomputes: bool = False,
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The result of `slm passkey` as a table, and warnings. `depths` in per cent.

    recomputes: the settings are those of a stored result. Raises `InvalidInput` for lengths that the model cannot read
    or that are too short for the task, and `OptionError` for a `max_new` that is too small.
    """
    from slmmodel.cli.passkey_text import TaskMaker, evaluation_tasks, needed_ids
    from slmmodel.evaluation import retrieval

    text, model, trained = context.need_text("slm passkey"), context.model, context.model.config.seq_len
    if ignore_memory:
        retrieval.ignore_memory(model)
    maker = TaskMaker(text, opening_ids(context.vocab), template, digits=digits, max_new=max_new)
    least = maker.least("9" * digits)
    warnings = () if lengths else _notes_on_half(trained, least)
    lengths = sorted(set(lengths or (trained, trained if warnings else trained // 2)))
    depths, counts = sorted(set(depths)), {"samples": samples, "digits": digits, "seed": seed, "max_new": max_new}
    _check_lengths(model.config, lengths, least)
    cells, pairs = [], [(length, depth) for length in lengths for depth in depths]
    if not recomputes:
        _check_max_new(max_new, max(needed_ids(maker, length, depth / 100, samples, seed) for length, depth in pairs))
    with Progress("passkeys") as progress:
        for length, depth in pairs:
            tasks = evaluation_tasks(maker, length, depth / 100, samples, seed)
            cells.append(_cell(context, tasks, length, depth, max_new))
            progress("passkeys", len(cells), len(pairs), f"{length:,} ids, depth {depth:g} %")
    if lengths[-1] > trained:
        warnings = (f"lengths above {trained:,} ids are longer than the sequences of training",)
    result = {
        **identity(context, step),
        "settings": {"lengths": lengths, "depths": depths, **counts, "ignore_memory": ignore_memory},
        "template": asdict(template),
        "digits_as_ids": text.words(maker.answer("1234567890"[:digits])),
        "chance": 10.0**-digits,
        "trained_on_passkeys": DataConfig.model_validate(context.run.config["data"]).passkey,
        "cells": cells,
        "by_length": [{"length": length, **_share([c for c in cells if c["length"] == length])} for length in lengths],
    }
    if (segment := getattr(model.config, "segment", None)) is not None:
        result["by_segments_between"] = _by_distance(cells, segment)
    return result, warnings


def _cell(context: RunContext, tasks: Sequence[Task], length: int, depth: float, max_new: int) -> dict[str, Any]:
    """The scores of the tasks of one length and depth."""
    from slmmodel.cli.passkey_text import scores
    from slmmodel.evaluation.retrieval import wilson

    text = context.need_text("slm passkey")
    contains = exact = correct = 0
    size = max(1, MAX_BATCH_IDS // length)
    for batch in (tasks[first : first + size] for first in range(0, len(tasks), size)):
        for task, found in zip(batch, _recall(context, batch, max_new), strict=True):
            is_in, is_first = scores(task, text.data(found.generated).decode("utf-8", "replace"))
            contains, exact, correct = contains + is_in, exact + is_first, correct + found.n_correct
    first = tasks[0]
    return {
        "length": length,
        "depth": depth,
        "samples": len(tasks),
        "exact": exact,
        "interval": list(wilson(exact, len(tasks))),
        "contains": contains,
        "answer_ids_correct": correct,
        "answer_ids": sum(len(task.answer) for task in tasks),
        "prompt_ids": len(first.prompt),
        "prompt_bytes": len(first.text.encode()),
        "needle_ids": list(first.needle),
    }


def _recall(context: RunContext, tasks: Sequence[Task], max_new: int) -> list[Recall]:
    from slmmodel.evaluation.retrieval import recall
    from slmmodel.run import special_ids

    prompts, answers = [task.prompt for task in tasks], [task.answer for task in tasks]
    # Behind the end of its document a model writes the next one, whose digits are no part of the answer.
    stop_ids = special_ids(context.vocab)["stop_ids"]
    return recall(context.model, prompts, answers, max_new_tokens=max_new, stop_ids=stop_ids)


def _share(cells: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Right answers of several cells, with the interval of their share."""
    from slmmodel.evaluation.retrieval import wilson

    exact, n = sum(cell["exact"] for cell in cells), sum(cell["samples"] for cell in cells)
    return {"exact": exact, "samples": n, "interval": list(wilson(exact, n))}


def _by_distance(cells: Sequence[Mapping[str, Any]], segment: int) -> list[dict[str, Any]]:
    """Right answers by the number of segments from the last id of the needle to the last id of the prompt."""
    groups: dict[int, list[Mapping[str, Any]]] = {}
    for cell in cells:
        distance = (cell["prompt_ids"] - 1) // segment - (cell["needle_ids"][1] - 1) // segment
        groups.setdefault(distance, []).append(cell)
    return [{"segments": distance, **_share(group)} for distance, group in sorted(groups.items())]


def _checked(path: str, stated: Mapping[str, Any], computed: Mapping[str, Any]) -> Outcome:
    """Compares a stated result with one that was just computed."""
    wrong = [name for name in ("model", "tokenizer", "settings", "template") if stated.get(name) != computed[name]]
    others = (cell for cell in computed["cells"] if cell not in stated["cells"])
    wrong += [f"length {cell['length']}, depth {cell['depth']:g}" for cell in others]
    return proof(path, wrong, [("differs", "\n".join(wrong))])


# ---------------------------------------------------------------- the heat map


def _show(result: Mapping[str, Any], written: Mapping[str, str]) -> None:
    chosen, rows = result["settings"], list[list[str]]()
    of = {(cell["length"], cell["depth"]): cell for cell in result["cells"]}
    for depth in chosen["depths"]:
        rows.append([f"{depth:g} %", *(_shaded(of[length, depth]) for length in chosen["lengths"])])
    rows.append(["all", *(_shaded(line) for line in result["by_length"])])
    widest = {length: of[length, chosen["depths"][0]] for length in chosen["lengths"]}
    rows.append(["text", *(format_bytes(cell["prompt_bytes"]) for cell in widest.values())])
    write_text(table(["depth", *(f"{length:,} ids" for length in chosen["lengths"])], rows))
    shared = result["trained_on_passkeys"]
    segments = [
        f"{line['segments']}: {line['exact']}/{line['samples']}" for line in result.get("by_segments_between", [])
    ]
    correct, total = (sum(cell[name] for cell in result["cells"]) for name in ("answer_ids_correct", "answer_ids"))
    print_rows(
        [
            ("shown", "right answers, share and 95 % interval (Wilson)"),
            ("by segments between", "  ".join(segments)),
            ("memory", "ignored: the gates are 0" if chosen["ignore_memory"] else ""),
            ("answer ids", f"{correct:,} of {total:,} are the likeliest ones after the true ids before them"),
            ("digits", f"{chosen['digits']}, cut as {'|'.join(result['digits_as_ids'])}; chance {result['chance']:g}"),
            (
                "trained on",
                f"passkeys: {shared:.1%} of the training ids, with other numbers" if shared else "no passkeys",
            ),
            ("result", written["result"]),
            ("heat map", written.get("plot", "")),
        ]
    )


def _shaded(cell: Mapping[str, Any]) -> str:
    """`▓ 8/10  49-94 %`."""
    share, (low, high) = cell["exact"] / cell["samples"], cell["interval"]
    shade = SHADES[round(share * (len(SHADES) - 1))]
    return f"{shade * 2} {cell['exact']}/{cell['samples']}  {100 * low:.0f}-{100 * high:.0f} %"


def heat_map(result: Mapping[str, Any], target: str) -> bytes:
    """The share of right answers by length and depth as a picture, in the format of the suffix of `target`."""
    lengths, depths = result["settings"]["lengths"], result["settings"]["depths"]
    of = {(cell["length"], cell["depth"]): cell for cell in result["cells"]}
    shares = [[of[length, depth]["exact"] / of[length, depth]["samples"] for length in lengths] for depth in depths]
    figure = figure_class()(figsize=(2.5 + 0.9 * len(lengths), 1.8 + 0.4 * len(depths)), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(shares, vmin=0, vmax=1, cmap="RdYlGn", aspect="auto")
    axes.set_xticks(range(len(lengths)), [f"{length:,}" for length in lengths])
    axes.set_yticks(range(len(depths)), [f"{depth:g} %" for depth in depths])
    axes.set(xlabel="ids of prompt and answer", ylabel="depth of the number", title="Passkeys found")
    for row, line in enumerate(shares):
        for column, share in enumerate(line):
            axes.text(column, row, f"{share:.0%}", ha="center", va="center", fontsize=8)
    figure.colorbar(image, ax=axes, label="share of right answers")
    return figure_bytes(figure, target, "Passkeys found")
