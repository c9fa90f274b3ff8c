"""The error for a command that does not exist: one that is misspelt, of another tool, or of the other program."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence
from itertools import pairwise

import click

from slmtok.cli.arguments import OUTPUT_FLAGS, parameter_name, value_after
from slmtok.cli.text_argument import piped
from slmtok.cli.typography import NO_SPACE, SPACES, divided_at_spaces, named_sign
from slmtok.errors import SlmtokError, UnknownName, suggestion
from slmtok.foreign_options import DIVIDING_SHARES, held_out_share, rule_of_share
from slmtok.path_arguments import free_name

_PROGRAMS = ("slmtok", "slm")
OF_SLM = (
    *("ablate", "batches", "chat", "compare", "config", "demo", "doctor", "logprobs", "pairs", "passkey", "plot"),
    *("probe", "prompts", "resume", "sample", "status"),
)
"""Commands of slm alone, which slmtok knows without importing them."""
_HABITS = {"generate": "slm sample RUN", "tokenize": "slmtok encode", "detokenize": "slmtok decode"}
FINETUNE = ("finetune", "fine-tune")
_HABITS |= dict.fromkeys(FINETUNE, "slm resume RUN")
_HABITS |= {"tokenise": _HABITS["tokenize"], "detokenise": _HABITS["detokenize"]}
"""Commands of other tools, each with ours."""
_HABITS |= dict.fromkeys(("predict", "complete", "infer", "inference"), _HABITS["generate"])
_HABITS |= dict.fromkeys(("perplexity", "ppl", "score"), "slm eval RUN")
_SYNONYMS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("summary", "summarize", "describe", "inspect", "stat", "stats"), ("info",)),
    "check": ("verify", "doctor"),
    **dict.fromkeys(("fit", "learn"), ("train",)),
    **dict.fromkeys(("preprocess", "prepare", "binarize", "shard"), ("pack",)),
    **dict.fromkeys(("curves", "history"), ("plot",)),
    "continue": ("resume",),
}
"""Words for commands that one of the programs has, or both: the one that was typed wins."""
_NO_COMMANDS = {
    **dict.fromkeys(
        ("dedup", "dedupe", "deduplicate"),
        (
            "slmtok removes no duplicates",
            "{count}, which reports equal documents; --document line makes each line of a text one",
        ),
    ),
    "shuffle": ("slmtok shuffles no files", "leave it out: slm train shuffles documents and sequences by its seed"),
}
"""What neither program does: the fact, and the fix."""
_KEPT = "slm resume goes on from a checkpoint of a run, with its model, tokenizer and data, or with other data"
_OF_SPLITS = ("split", "split-corpus", "split-data", "split-dataset", "train-test-split", "train-val-split")
"""Commands of other tools for what packing does with --val."""
_SHARES = ("val", "ratio", *DIVIDING_SHARES)
"""Their options for a share of the documents."""
_MIN_PREFIX = 4
"""Characters of a command that a longer word such as `evaluate` begins with."""


def unknown_command(
    program: str, name: str, rest: Sequence[str], known: Iterable[str], elsewhere: click.Command | None = None
) -> SlmtokError:
    """The error for a command that does not exist; `elsewhere` is one of that name in the other program."""
    from slmtok.cli.files import names_tokenizer

    names, typed = list(known), name.replace("_", "-")
    if typed in _PROGRAMS:
        fact = f"{name!r} behind {program!r} is no command, but a program"
        return UnknownName(fact, fix=shlex.join([typed, *(rest or ["--help"])]), name=name)
    parts = divided_at_spaces(name)
    if parts != [name] and parts and parts[0] in names:
        fact = f"unknown command {name!r}: it has {named_sign(name, SPACES)}, {NO_SPACE}"
        return UnknownName(fact, fix=shlex.join([program, *parts, *rest]), name=name)
    if program == "slmtok" and typed == "compare" and any(map(names_tokenizer, rest)):
        # slm compares the losses of models.
        is_of_text = any(" " in word and not os.path.exists(word) for word in rest)  # noqa: PTH110
        command, does = ("show", "compares the tokens of a text") if is_of_text else ("diff", "compares tokenizers")
        fact = f"slmtok has no command {name!r}; slmtok {command} {does}"
        return UnknownName(fact, fix=shlex.join(["slmtok", command, *rest]), name=name)
    place = "slm" if typed in OF_SLM else "slmtok" if elsewhere else program
    if place != program:
        fix = " ".join([shlex.join([place, typed, *rest]), *(_lacking(elsewhere, rest) if elsewhere else [])])
        return UnknownName(f"{program} has no command {name!r}; {place} has", fix=fix, name=name)
    if typed == "version" or typed in _HABITS:
        fix = f"{program} --version" if typed == "version" else _of_habit(_HABITS[typed].split(), rest)
        limit = _KEPT if fix.startswith("slm resume") else f"commands: {', '.join(names)}"
        return UnknownName(f"unknown command {name!r}", limit=limit, fix=fix, name=name)
    if typed in _NO_COMMANDS:
        fact, fix = _NO_COMMANDS[typed]
        fix = fix.format(count=_counted(rest))
        return UnknownName(
            f"unknown command {name!r}: {fact}", limit=f"commands: {', '.join(names)}", fix=fix, name=name
        )
    if typed in _SYNONYMS and typed not in names:
        meant_place, command = _synonym(program, typed, rest, names)
        fact = f"unknown command {name!r}; did you mean {f'{meant_place} {command}'!r}?"
        line = shlex.join([meant_place, command, *(rest or ["--help"])])
        return UnknownName(fact, limit=f"commands: {', '.join(names)}", fix=line, name=name)
    if typed in _OF_SPLITS:
        limit = "slmtok pack --val holds documents out for validation"
        return UnknownName(f"unknown command {name!r}", limit=limit, fix=_packed_with_split(rest), name=name)
    longer = (each for each in names if len(each) >= _MIN_PREFIX and typed.startswith(each))
    meant = suggestion(typed, names, cutoff=0.76) or next(longer, None)
    if meant is None and os.path.exists(name):  # noqa: PTH110
        fact = f"{name!r} is a {'folder' if os.path.isdir(name) else 'file'}, and no command"  # noqa: PTH112
        fix = f"name a command first: {program} COMMAND {shlex.join([name, *rest])}"
        return UnknownName(fact, limit=f"commands: {', '.join(names)}", fix=fix, name=name)
    return UnknownName(
        f"unknown {'option' if name.startswith('-') else 'command'} {name!r}"
        + (f"; did you mean {meant!r}?" if meant else ""),
        limit=f"commands: {', '.join(names)}",
        fix=shlex.join([program, meant, *rest]) if meant else f"{program} --help",
        name=name,
    )


def _synonym(program: str, typed: str, rest: Sequence[str], names: Sequence[str]) -> tuple[str, str]:
    """The program and its command that another word stands for; a run is of slm, a tokenizer of slmtok."""
    from slmtok.cli.files import names_tokenizer
    from slmtok.file_kinds import is_run

    commands = _SYNONYMS[typed]
    own = next((each for each in commands if each in names), None)
    if own == "info":
        return "slm" if any(map(is_run, rest)) else "slmtok" if any(map(names_tokenizer, rest)) else program, own
    if own is not None:
        return program, own
    return "slm" if program == "slmtok" else "slmtok", commands[0]


def _counted(rest: Sequence[str]) -> str:
    """The command line that counts the files among some words."""
    paths = [word for before, word in pairwise(["", *rest]) if before not in OUTPUT_FLAGS and os.path.exists(word)]  # noqa: PTH110
    return shlex.join(["slmtok", "count", *(paths or ["CORPUS"]), "-o", free_name("corpus.counts")])


def _packed_with_split(rest: Sequence[str]) -> str:
    """The command line that packs the files among some words, and holds out the share that stands among them."""
    words = [part for word in rest for part in (word.split("=", 1) if word.startswith("-") else [word])]
    named = [(flag.lstrip("-").replace("-", "_"), value) for flag, value in pairwise(words) if flag.startswith("-")]
    shares = (held_out_share(name, value) for name, value in named if name in _SHARES)
    rule = next(filter(None, map(rule_of_share, shares)), "tail:10%")
    output = value_after(OUTPUT_FLAGS, rest) or free_name("data")
    tokenizer = value_after(["-t", "--tokenizer"], rest)
    paths = [word for word in rest if os.path.exists(word) and word not in (output, tokenizer)]  # noqa: PTH110
    packed = next((path for path in paths if os.path.isfile(os.path.join(path, "manifest.json"))), None)  # noqa: PTH113, PTH118
    text = "" if packed is None else f"  # CORPUS is the text that {packed} was packed from, with its options"
    if packed is not None:
        own = os.path.join(packed, "tok.json")  # noqa: PTH118
        tokenizer, paths = tokenizer or (own if os.path.exists(own) else None), []  # noqa: PTH110
    line = ["slmtok", "pack", *(paths or ["CORPUS"]), "-t", tokenizer or "TOK", "--val", rule, "-o", output]
    return shlex.join(line) + text


def _of_habit(words: list[str], rest: Sequence[str]) -> str:
    """The command line with `rest`; a command of runs takes it where there is a run."""
    from slmtok.file_kinds import is_run

    if words[-1] == "encode" and (texts := [word for word in rest if _is_bare_text(word, rest)]):
        return piped(texts[0], "encode", rest, texts)
    if words[-1] != "RUN":
        return shlex.join([*words, *rest])
    if "eval" in words:
        return _evaluated(rest)
    if "resume" in words:
        rest = [word for word in rest if is_run(word)]
    return shlex.join([*words[:-1], *rest]) if any(map(is_run, rest)) else shlex.join(words)


def _evaluated(rest: Sequence[str]) -> str:
    """`slm eval` of a run among some words, with the data among them behind --on, and a text itself from stdin."""
    from slmtok.file_kinds import is_run

    run = next(filter(is_run, rest), "RUN")
    places = [word for before, word in pairwise(["", *rest]) if "-" not in (before[:1], word[:1]) and word != run]
    line = ["slm", "eval", run, *(word for word in rest if word not in (run, *places))]
    files = [word for word in places if os.path.exists(word)]  # noqa: PTH110
    if files or not places:
        return shlex.join([*line, *(part for file in files for part in ("--on", file))])
    return f"printf %s {shlex.quote(' '.join(places))} | {shlex.join(line)} --no-baselines --on -"


def _is_bare_text(word: str, words: Sequence[str]) -> bool:
    """Whether an argument is a text itself: neither an option nor the value of one, and no name of a file."""
    before = words[max(words.index(word) - 1, 0)]
    return not (word.startswith("-") or before.startswith("-") or "." in word or os.path.exists(word))  # noqa: PTH110


def _lacking(command: click.Command, given: Sequence[str]) -> list[str]:
    """The options that a command needs and arguments do not give, each with the placeholder of its value.

    A tokenizer may also stand as an argument.
    """
    options = [param for param in command.params if isinstance(param, click.Option)]
    needed = [option for option in options if option.required and option.name != "tokenizer"]
    lacking = [option for option in needed if not {*option.opts} & {*given}]
    return [f"{parameter_name(option)} {str(option.metavar).partition('|')[0]}" for option in lacking]
