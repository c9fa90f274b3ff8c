"""`slm probe`: what a model learns in minutes of tasks that depend on how the tokenizer cuts words and numbers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from random import Random
from typing import Any, NamedTuple

from slmmodel.cli.open_by_path import RunContext, check_written, open_run, refuse_wrong_check, result_to_check
from slmmodel.cli.options import (
    BOUNDED,
    COUNT,
    COUNT_HABITS,
    OPENING,
    POSITIVE,
    SEED,
    opening_options,
    run_argument,
    run_as_argument,
)
from slmmodel.cli.result_files import MAX_PROBE_DIGITS, PROBE, check_result, checked, identity, load_result, save
from slmmodel.errors import InvalidInput, OptionError, UnknownName
from slmmodel.folder_lock import check_in_place
from slmtok.cli.files import JSON
from slmtok.cli.options import Parsed, command, is_given, option, output_options
from slmtok.cli.output import Outcome, print_rows, table, write_text
from slmtok.cli.progress import Progress

MAX_SCORED = 64
"""Questions that are answered at once."""
_TRIES = 10_000
"""Draws in a row without a new question, after which a task has no more."""
_CONSONANTS, _VOWELS = "bcdfghjklmnprstvwz", "aeiou"


class Question(NamedTuple):
    """A prompt, and the answer that follows it up to the end of its line."""

    prompt: str
    answer: str


def _word(random: Random) -> str:
    return "".join(random.choice(_CONSONANTS) + random.choice(_VOWELS) for _ in range(random.randint(2, 4)))


def _copy(random: Random, digits: int) -> Question:
    words = " ".join(_word(random) for _ in range(3))
    return Question(f"copy: {words} ->", f" {words}\n")


def _reverse(random: Random, digits: int) -> Question:
    word = _word(random)
    return Question(f"reverse: {word} ->", f" {word[::-1]}\n")


def _addition(random: Random, digits: int) -> Question:
    a, b = (random.randrange(10 ** (digits - 1), 10**digits) for _ in range(2))
    return Question(f"{a}+{b}=", f"{a + b}\n")


def _brackets(random: Random, digits: int) -> Question:
    """Opening and closing brackets, of which as many close as are open; how many are open at the end?"""
    depth, text = 0, ""
    for _ in range(random.randint(6, 14)):
        closes = depth > 0 and random.random() < 0.45
        text, depth = text + (")" if closes else "("), depth + (-1 if closes else 1)
    return Question(f"depth: {text} ->", f" {depth}\n")


TASKS: dict[str, Callable[[Random, int], Question]] = {
    "copy": _copy,
    "reverse": _reverse,
    "addition": _addition,
    "brackets": _brackets,
}
"""To add a task, write its function of random numbers and the number of digits, and its line."""


NAMES = Parsed(
    lambda text: tuple(dict.fromkeys(name.strip() for name in text.split(","))),
    expects=f"names such as {','.join(TASKS)}",
)


@command(
    "probe",
    example="slm probe run --tasks reverse,addition --digits 3",
    habits={**run_as_argument("probe"), **result_to_check(f"{PROBE}.json", "probe"), **COUNT_HABITS},
)
@run_argument
@option("--tasks", metavar="NAME,...", type=NAMES, default=tuple(TASKS), show_default=",".join(TASKS),
        help="Copy words; reverse a word, letter by letter; addition of two numbers; count open brackets.")  # fmt: skip
@option("--steps", metavar="N", type=COUNT, default=300, help="Steps of training on a task; 0 asks without training.")
@option("--batch-size", metavar="N", type=BOUNDED, default=32, help="Questions of a step.")
@option("--lr", metavar="X", type=float, default=1e-3, help="Learning rate of AdamW.")
@option("--samples", metavar="N", type=BOUNDED, default=200, help="Questions of the test; training has none of them.")
@option("--digits", metavar="N", type=POSITIVE, default=3, help="Digits of the numbers that are added, 2 to 9.")
@option("--seed", metavar="N", type=SEED, default=0, help="Seed of the questions.")
@opening_options
@option(
    "--check",
    metavar="FILE",
    help="Measure a result again, with its settings; exit with status 3 if it differs.",
)
@output_options(show_default="RUN/eval/probe.json", help="Where to write the result.")
def probe(run: str, check: str | None, output: str | None, force: bool, **options: Any) -> Outcome:
    """Train copies of the model on small tasks for minutes, and print the share of right answers to new questions.

    The run itself stays as it is. Every share has its 95 % interval. How the tokenizer cuts a question is printed too:
    letters or digits in one token make spelling harder and sums easier.
    """
    opening = {name: options.pop(name) for name in OPENING}
    _check(options)
    refuse_wrong_check(check, run, "a result of slm probe", f"{PROBE}.json", "probe")
    check_written(output, "output", [run, opening["tokenizer"]], force=force, content=JSON)
    stated = None if check is None else load_result(check, PROBE)
    if stated is not None:
        used = {name: value for name, value in stated["settings"].items() if not is_given(name)}
        # The copies that are trained depend on the number of threads.
        opening |= {"threads": used.pop("threads")} if "threads" in used else {}
        options |= used
    context = open_run(run, **opening)
    if check is None and output is None:
        check_result(context.run, f"{PROBE}.json", option="-o")
    result = measure(context, opening["step"], **options)
    check_in_place(context.run.handle)
    if check is not None and stated is not None:
        if "threads" not in stated["settings"]:
            del result["settings"]["threads"]
        return checked(check, stated, result)
    written = save(context.run, PROBE, result, output=output, force=force)
    return Outcome({**result, "written": {"result": written}}, lambda: _show(result, written))


_LIKE = {
    "copying": "copy",
    **dict.fromkeys(("arithmetic", "add", "adding", "sum", "math", "plus"), "addition"),
    **dict.fromkeys(("spell", "spelling", "backwards", "palindrome"), "reverse"),
    **dict.fromkeys(("count", "counting"), "brackets"),
}
"""Other words for tasks."""


def _check(options: Mapping[str, Any]) -> None:
    if unknown := [name for name in options["tasks"] if name not in TASKS]:
        # All tasks are meant where none is known.
        # Spaces stand between names as commas do.
        words = [word for name in options["tasks"] for word in name.split()]
        near = {name: next(iter(get_close_matches(name, TASKS, 1)), None) for name in words}
        meant = {name: name if name in TASKS else _LIKE.get(name) or like for name, like in near.items()}
        kept = dict.fromkeys(filter(None, meant.values())) or TASKS
        lost = [name for name, task in meant.items() if task is None]
        remark = f"; nothing is like {', '.join(lost)}" if lost else ""
        raise UnknownName(
            f"unknown task {unknown[0]!r}",
            limit=f"one of {', '.join(TASKS)}",
            fix=f"--tasks {','.join(kept)}{remark}",
            name=unknown[0],
        )
    if not 2 <= options["digits"] <= MAX_PROBE_DIGITS:
        fact = f"--digits is {options['digits']}"
        raise OptionError(fact, limit=f"2 to {MAX_PROBE_DIGITS}", fix="--digits 3", option="digits")
    if not 0 < options["lr"] <= 1:
        raise OptionError(f"--lr is {options['lr']:g}", limit="above 0, at most 1", fix="--lr 0.001", option="lr")
    if options["steps"] == 0:
        _refuse(("lr", "batch_size"), "with --steps 0, which trains nothing")
    if "addition" not in options["tasks"]:
        _refuse(("digits",), "without the task addition")


def _refuse(names: Sequence[str], why: str) -> None:
    """Raises `OptionError` for the first of these options that is given."""
    for flag, name in ((name.replace("_", "-"), name) for name in names if is_given(name)):
        raise OptionError(f"--{flag} has no effect {why}", fix=f"leave --{flag} out", option=name)


def measure(
    context: RunContext, step: int | None = None, *, tasks: Sequence[str], digits: int, **settings: Any
) -> dict[str, Any]:
    """The result of `slm probe` as a table. Raises `InvalidInput` for questions that the model cannot read."""
    import torch

    text = context.need_text("slm probe")
    _check_lengths(context, {name: _tests(name, digits, settings["samples"], settings["seed"]) for name in tasks})
    return {
        **identity(context, step),
        "settings": {"tasks": list(tasks), "digits": digits, **settings, "threads": torch.get_num_threads()},
        "digits_as_ids": text.words(text.encode("1234567890"[:digits])),
        "probes": [_probe(context, name, digits, **settings) for name in tasks],
    }


def _check_lengths(context: RunContext, tests: Mapping[str, Sequence[Question]]) -> None:
    """Raises `InvalidInput` for tasks that the model cannot read, before any is trained."""
    text, limit = context.need_text("slm probe"), context.model.config.max_context
    # The model reads the opening id too, and not the last id of an answer.
    longest = {
        name: max(len(text.encode(each.prompt)) + len(text.encode(each.answer)) for each in questions)
        for name, questions in tests.items()
    }
    long = [name for name, length in longest.items() if length > limit]
    if long:
        fit = ",".join(name for name in tests if name not in long)
        raise InvalidInput(
            f"a question of the task {long[0]} has {longest[long[0]]:,} ids with its answer",
            where=str(context.run.path),
            limit=f"seq_len {limit}",
            fix=f"--tasks {fit}" if fit else "a run with a longer seq_len",
        )


def _probe(
    context: RunContext, name: str, digits: int, *, steps: int, batch_size: int, lr: float, samples: int, seed: int
) -> dict[str, Any]:
    """One task: a copy of the model learns it, and answers questions that it has not seen."""
    import torch

    from slmmodel.decoding_options import opening_ids
    from slmmodel.evaluation.probing import train_on_answers
    from slmmodel.evaluation.retrieval import wilson

    text, opening = context.need_text("slm probe"), opening_ids(context.vocab)
    tests = _tests(name, digits, samples, seed)
    known = {question.prompt for question in tests}

    def ids(question: Question) -> tuple[list[int], list[int]]:
        return opening + text.encode(question.prompt), text.encode(question.answer)

    def exercises() -> Iterator[tuple[list[int], list[int]]]:
        random = Random(f"train {name} {seed}")
        while True:
            if (question := TASKS[name](random, digits)).prompt not in known:
                yield ids(question)

    model, loss = copy.deepcopy(context.model).requires_grad_(True), None
    torch.manual_seed(seed)
    with Progress(f"probe {name}") as progress:
        learning = train_on_answers(model, exercises(), steps=steps, batch_size=batch_size, lr=lr)
        for done, loss in enumerate(learning, 1):
            progress(f"probe {name}", done, steps, f"loss {loss:.3f}")
    exact, correct = _answers(context, model, tests, [ids(question) for question in tests])
    answers = [question.answer for question in tests]
    question, answer = ids(tests[0])
    return {
        "task": name,
        "exact": exact,
        "samples": samples,
        "interval": list(wilson(exact, samples)),
        "commonest": max(map(answers.count, set(answers))) / samples,
        "answer_ids_correct": correct,
        "answer_ids": sum(len(ids(question)[1]) for question in tests),
        "loss": loss,
        "example": tests[0].prompt + tests[0].answer,
        "example_as_ids": text.words(question[len(opening) :] + answer),
    }


def _tests(name: str, digits: int, samples: int, seed: int) -> list[Question]:
    """Different questions for the test. Raises `InvalidInput` where the task has not as many again to learn from."""
    random, found = Random(f"test {name} {seed}"), dict[str, Question]()
    draws = known = 0
    while known < _TRIES:
        question, draws = TASKS[name](random, digits), draws + 1
        known = known + 1 if question.prompt in found else 0
        found.setdefault(question.prompt, question)
        if len(found) == 2 * samples:
            return list(found.values())[:samples]
    raise InvalidInput(
        f"the task {name} has fewer than {2 * samples:,} different questions, half of them to learn from",
        where=f"--samples {samples}, --digits {digits}",
        limit=f"{len(found):,} found in {draws:,} draws",
        fix=f"--samples {max(1, len(found) // 4)}",
    )


def _answers(
    context: RunContext, model: Any, tests: Sequence[Question], ids: Sequence[tuple[list[int], list[int]]]
) -> tuple[int, int]:
    """Right answers, byte by byte and to the end of the line; and right ids after the true ids before them."""
    from slmmodel.evaluation.retrieval import recall

    text, exact, correct = context.need_text("slm probe"), 0, 0
    # An answer may be cut into more ids than the tokenizer takes, at most one for a byte.
    longest = max(len(question.answer) for question in tests)
    for first in range(0, len(tests), MAX_SCORED):
        prompts, answers = zip(*ids[first : first + MAX_SCORED], strict=True)
        room = min(longest, model.config.max_context - max(map(len, prompts)))
        for question, found in zip(
            tests[first:], recall(model, prompts, answers, max_new_tokens=max(1, room)), strict=False
        ):
            exact += text.data(found.generated).startswith(question.answer.encode())
            correct += found.n_correct
    return exact, correct


def _show(result: Mapping[str, Any], written: str) -> None:
    rows = [
        [
            one["task"],
            f"{one['exact']}/{one['samples']}",
            "{:.1%} to {:.1%}".format(*one["interval"]),
            f"{one['commonest']:.0%}",
            f"{one['answer_ids_correct'] / one['answer_ids']:.0%}",
            "" if one["loss"] is None else f"{one['loss']:.3f}",
            "|".join(one["example_as_ids"]),
        ]
        for one in result["probes"]
    ]
    head = ["task", "right", "95 % interval", "commonest answer", "right ids", "loss", "cut as"]
    write_text(table(head, rows))
    trained = f"{result['settings']['steps']:,} steps on a copy of the model for each task"
    digits = "|".join(result["digits_as_ids"])
    print_rows([("trained", trained), ("digits", f"cut as {digits}"), ("result", written)])
