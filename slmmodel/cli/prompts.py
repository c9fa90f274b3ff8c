"""`slm prompts`: twenty fixed prompts continued in three ways, with measures of variety, repetition and overlap."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from slmmodel.cli.open_by_path import (
    RunContext,
    check_written,
    open_run,
    prompt_of,
    refuse_wrong_check,
    result_to_check,
)
from slmmodel.cli.options import BOUNDED, SEED, opening_options, run_argument, run_as_argument
from slmmodel.cli.result_files import PROMPT_SHEET, check_result, checked, identity, load_result, measure_rows, save
from slmmodel.cli.run_argument import run_here, without
from slmmodel.decoding_options import SampleConfig
from slmmodel.errors import SlmmodelError
from slmmodel.folder_lock import check_in_place
from slmtok.cli.errors import EXTRA
from slmtok.cli.files import JSON
from slmtok.cli.options import command, instead, is_given, option, output_options
from slmtok.cli.output import Outcome, print_rows, printable, table, write_text
from slmtok.cli.progress import Progress
from slmtok.errors import SlmtokError
from slmtok.file_kinds import is_run
from slmtok.files import free_name

if TYPE_CHECKING:
    from slmmodel.data.source import TokenSource

PROMPTS = (
    "Once upon a time there was a small",
    "The door opened and",
    "My favourite food is",
    "In the morning, the farmer",
    "She looked at the map and said:",
    "The three largest cities are",
    "To make tea, first",
    "If it rains tomorrow,",
    "The old man never told anyone that",
    "Water boils when",
    "Dear Anna,\n\nThank you for",
    "Chapter 1\n\n",
    "Question: What is a computer?\nAnswer:",
    "1, 2, 3, 4,",
    "Monday, Tuesday,",
    "red, green, blue,",
    "def add(a, b):\n",
    "# Installation\n\nTo install",
    '"Where are you going?" asked',
    "The meeting ended because",
)
"""The same for every model; they end in a whole word or sign, so that a tokenizer finds its usual tokens."""
METHODS: dict[str, dict[str, Any]] = {
    "greedy": {"temperature": 0.0, "top_p": 1.0},
    "beam 5": {"beam": 5},
    "T=0.8, top-p 0.95": {"temperature": 0.8, "top_p": 0.95},
}
"""The ways to continue a prompt, as options of `slm sample`. To add one, write its line."""
MAX_OVERLAP_IDS = 1 << 25
"""Training ids in which runs of 8 ids are looked up."""
_BLOCK_IDS = 1 << 20


Counts: TypeAlias = "Callable[[Sequence[int]], tuple[int, int]]"
"""Of a share over all continuations, numerator and denominator in each."""
_FILE_FLAGS = ("--prompts", "--file", "--prompt-file", "--input-file")
_PROMPT_FLAGS = ("--prompt", "-p", *_FILE_FLAGS)
_LENGTHS = ("--max-new-tokens", "--max-tokens", "--max-length")
"""Options of other tools for what `--max-new` is."""
_LENGTH = re.compile(f"^({'|'.join(_LENGTHS)})(?==|$)")


def _own_prompts(value: str | None, arguments: Sequence[str]) -> str:
    """For prompts of one's own, as an argument too many or by an option: `slm sample` for them, with the options that
    it has too. Each line of a file of several is a prompt.
    """
    run, text = next((word for word in arguments if is_run(word)), "RUN"), value or "TEXT"
    given = [each for each in without((*_PROMPT_FLAGS, "--check", "-o", "--output"), arguments) if each != "--force"]
    kept = [_LENGTH.sub("--max-new", each) for each in given if each not in (run, text)]
    line = shlex.join(["slm", "sample", run, *kept])
    names_file = any(word.partition("=")[0] in _FILE_FLAGS for word in arguments)
    if not Path(text).is_file():
        return f"{line} {prompt_of(text)}" if names_file else f"{line} --prompt {shlex.quote(text)}"
    with Path(text).open(encoding="utf-8", errors="replace") as file:
        has_several = sum(1 for _ in islice(file, 2)) > 1
    if not has_several:
        return f"{line} {prompt_of(text)}"
    return f'while IFS= read -r line; do {line} --prompt "$line"; done < {shlex.quote(text)}'


def _listed(value: str | None, arguments: Sequence[str]) -> str:
    """The command whose sheet lists the prompts."""
    run = next((word for word in arguments if is_run(word)), None) or run_here()
    return shlex.join(["slm", "prompts", run, "--max-new", "1", "-o", free_name("prompts.json")])


_HABITS = {
    **run_as_argument("prompts"),
    **result_to_check(f"{PROMPT_SHEET}.json", "prompts"),
    **dict.fromkeys((EXTRA, *_PROMPT_FLAGS), _own_prompts),
    **dict.fromkeys(_LENGTHS, instead("--max-new {}", "100")),
    **dict.fromkeys(("--list", "--list-prompts", "--show"), _listed),
}


@command("prompts", example="slm prompts run --max-new 60", habits=_HABITS)
@run_argument
@option("--max-new", "max_new", metavar="N", type=BOUNDED, default=100, help="Ids of each continuation.")
@option("--seed", metavar="N", type=SEED, default=0, help="Seed of the draws.")
@opening_options
@option(
    "--check",
    metavar="FILE",
    help="Make a sheet again, with its settings; exit with status 3 if it differs.",
)
@output_options(show_default="RUN/eval/prompts.json", help="Where to write the sheet.")
def prompts(
    run: str, check: str | None, output: str | None, force: bool, max_new: int, seed: int, **opening: Any
) -> Outcome:
    """Continue 20 fixed prompts: greedily, by beam search, and by draws with T=0.8 and top-p 0.95.

    Of each way: the share of different runs of 1, 2 and 3 ids in a continuation, the share of repeated runs of 4, and
    the share of runs of 8 that are in the training data, with 95 % intervals over the prompts.
    """
    refuse_wrong_check(check, run, "a prompt sheet", f"{PROMPT_SHEET}.json", "prompts")
    check_written(output, "output", [run, opening["tokenizer"]], force=force, content=JSON)
    stated = None if check is None else load_result(check, PROMPT_SHEET)
    if stated is not None:
        max_new = max_new if is_given("max_new") else stated["settings"]["max_new"]
        seed = seed if is_given("seed") else stated["settings"]["seed"]
    context = open_run(run, **opening)
    if check is None and output is None:
        check_result(context.run, f"{PROMPT_SHEET}.json", option="-o")
    result, warnings = measure(context, opening["step"], max_new=max_new, seed=seed)
    check_in_place(context.run.handle)
    if check is not None and stated is not None:
        return checked(check, stated, result)
    written = save(context.run, PROMPT_SHEET, result, output=output, force=force)
    return Outcome({**result, "written": {"result": written}}, lambda: _show(result, written), warnings=warnings)


def measure(
    context: RunContext, step: int | None = None, *, max_new: int, seed: int
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The prompt sheet as a table, and warnings. Raises `InvalidInput` for prompts that the model cannot read."""
    from slmmodel.decoding_options import opening_ids
    from slmmodel.evaluation.probing import OVERLAP_IDS, distinct, found_in, ngrams, repeated

    text, opening = context.need_text("slm prompts"), opening_ids(context.vocab)
    asked = [opening + text.encode(prompt) for prompt in PROMPTS]
    room = min(max_new, context.model.config.max_context - max(map(len, asked)) + 1)
    found = {method: _continue(context, method, asked, max_new, seed) for method in METHODS}
    runs = {run for rows in found.values() for ids in rows for run in ngrams(ids, OVERLAP_IDS)}
    searched, warnings = 0, tuple[str, ...]()
    measures: dict[str, Counts] = {f"distinct_{n}": partial(distinct, n=n) for n in (1, 2, 3)}
    measures["repeated_4"] = repeated
    try:
        blocks = _TrainingIds(context)
        seen = found_in(blocks, runs)
        searched = blocks.read
    except (SlmmodelError, SlmtokError) as error:
        warnings = (f"no overlap with the training data: they cannot be opened: {error.fact}",)
    else:
        measures["overlap_8"] = lambda ids: (sum(run in seen for run in ngrams(ids, OVERLAP_IDS)), distinct(ids, 8)[1])
    sheet = [
        {
            "method": method,
            "measures": {name: _share([counts(ids) for ids in rows]) for name, counts in measures.items()},
            "continuations": [text.data(ids).decode("utf-8", "replace") for ids in rows],
            "lengths": [len(ids) for ids in rows],
        }
        for method, rows in found.items()
    ]
    result = {
        **identity(context, step),
        "settings": {"max_new": max_new, "seed": seed},
        "prompts": list(PROMPTS),
        "training_ids": searched,
        "sheet": sheet,
    }
    if room < max_new:
        fact = f"some continuations end at the window of the model, after {room:,} of {max_new:,} ids"
        warnings = (*warnings, f"{fact}: compare only sheets of --max-new {room} or less")
    return result, warnings


def _continue(
    context: RunContext, method: str, prompts: Sequence[list[int]], max_new: int, seed: int
) -> list[list[int]]:
    """The continuation of each prompt, without the id that ended it."""
    from slmmodel.decoding_methods import METHODS as SEARCHES
    from slmmodel.decoding_methods import chosen_method
    from slmmodel.generation import Generation
    from slmmodel.run import special_ids

    options = SampleConfig(**special_ids(context.vocab), **METHODS[method], seed=seed, max_new_tokens=max_new)
    search = chosen_method(options, greedy=options.greedy, assistant=False)
    found: list[list[int]] = []
    with Progress(f"prompts, {method}") as progress:
        if search is None:
            generation = Generation(context.model, prompts, options, max_new_tokens=max_new)
            for done, _ in enumerate(generation, 1):
                progress(f"prompts, {method}", done, max_new)
            return [list(sample.ids) for sample in generation.samples]
        for prompt in prompts:
            found.append(list(SEARCHES[search].decode(context.model, prompt, options, 1)[0].ids))
            progress(f"prompts, {method}", len(found), len(prompts))
    return found


class _TrainingIds:
    """Iterates over the training ids of a run in arrays of whole documents, and counts them in `read`.

    Of each stage that the run began the first ids, `MAX_OVERLAP_IDS` in all.
    """

    def __init__(self, context: RunContext) -> None:
        from slmmodel.cli.recorded import begun_stages, steps_trained, training_data

        self._stages = begun_stages(training_data(context.run), steps_trained(context.run))
        self.read = 0

    def __iter__(self) -> Iterator[Any]:
        for _, source in self._stages:
            parts, size = list[Any](), 0
            for ids in self._documents(source, MAX_OVERLAP_IDS // len(self._stages)):
                parts.append(ids)
                size += len(ids)
                if size >= _BLOCK_IDS:
                    yield np.concatenate(parts)
                    parts, size = [], 0
            if parts:
                yield np.concatenate(parts)

    def _documents(self, source: TokenSource, room: int) -> Iterator[Any]:
        from slmmodel.data.source import blocks_of

        for block in blocks_of(source):
            for doc, length in enumerate(block.lengths().tolist()):
                yield np.asarray(block.ids(doc, 0, length))
                self.read, room = self.read + length, room - length
                if room <= 0:
                    return


def _share(counts: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """A share over all continuations, and its interval from a bootstrap over prompts; null without a run of ids.

    Of a share of none or all a bootstrap has no spread, so its interval is Wilson's for as many prompts.
    """
    from slmmodel.evaluation.comparison import Units, interval
    from slmmodel.evaluation.retrieval import wilson

    parts, wholes = np.array(counts, dtype=np.float64).T
    if not wholes.sum():
        return {"share": None, "interval": None}
    share, n_prompts = float(parts.sum() / wholes.sum()), int((wholes > 0).sum())
    if share in (0.0, 1.0):
        return {"share": share, "interval": list(wilson(share * n_prompts, n_prompts))}
    found = interval(Units(parts, wholes, "prompt"))
    return {"share": share, "interval": None if found is None else [found.low, found.high]}


def _show(result: Mapping[str, Any], written: str) -> None:
    for number, prompt in enumerate(result["prompts"]):
        lines = [f"  {line['method']:<18}{line['continuations'][number]!r}" for line in result["sheet"]]
        write_text(printable("\n".join([f"{prompt!r}", *lines]) + "\n"))
    write_text(table(*measure_rows(result)))
    compared = f"{result['training_ids']:,} training ids" if result["training_ids"] else ""
    print_rows([("overlap-8 with", compared), ("result", written)])
