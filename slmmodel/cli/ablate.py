"""`slm ablate`: matched models on several tokenizers, and a verdict with its interval."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from slmmodel.ablation.matches import MATCHES
from slmmodel.cli import ablation_files as files
from slmmodel.cli.open_by_path import comparison_of, note_of_command, refuse_file_of_data, refuse_run
from slmmodel.cli.options import BUDGET_HABITS, SEEDS, budget_option, set_option, setting_option
from slmmodel.cli.reading import corpus_options, require_text, to_flags
from slmmodel.cli.run_argument import without
from slmmodel.cli.text import is_text
from slmmodel.cli.train import read_settings
from slmmodel.cli.train_habits import SETTING_HABITS
from slmmodel.errors import OptionError, SlmmodelError
from slmmodel.folder_lock import locked
from slmmodel.sizes import format_bytes, format_count, format_time, parse_share
from slmtok.cli.arguments import VOCAB_FLAGS, refuse_list
from slmtok.cli.files import is_tokenizer
from slmtok.cli.options import (
    INTEGER,
    TOKENIZER,
    Parsed,
    argument,
    arguments_of_command,
    command,
    instead,
    is_given,
    option,
    output_options,
    parse_choice,
)
from slmtok.cli.output import Outcome, counted, print_rows, table, write_line, write_text
from slmtok.envelope import baseline_limits
from slmtok.errors import OptionError as CommandError
from slmtok.errors import SlmtokError
from slmtok.file_kinds import has_manifest, is_run

if TYPE_CHECKING:
    from slmmodel.cli.ablation_arms import TextArm
    from slmtok import Tokenizer
    from slmtok.options import ReadOptions

CPU_PRESET, CPU_BUDGET = "cpu-demo", "tokens=800k"
"""With `--cpu`: two arms and three seeds take a quarter of an hour on two cores."""
DEFAULT_VOCAB = 2048


def _margin(text: str) -> float:
    share = parse_share(text)
    if share is None or not 0 < share < 1:
        raise ValueError
    return share


def _values(text: str) -> list[str]:
    return [value.strip() for value in text.split(",")]


def _patterns(text: str) -> list[str]:
    """Names separated by commas; or one regex with its name, which may hold commas, as those in braces do."""
    return [value.strip() for value in re.split(r",(?![^{]*\})", text)] if "=" not in text else [text]


LIST = Parsed(_values)
AXES = "Arms that are trained from --text"


def _matches(text: str) -> list[str]:
    names = _values(text)
    if any(name not in MATCHES for name in names):
        raise ValueError
    return names


_LR = ("shared", "sweep")


def _lr(text: str) -> str:
    """How the learning rates are chosen. Raises `OptionError` for a rate itself, which is a setting of all arms."""
    rates = text.split(",")
    if not all(map(parse_share, rates)):
        return parse_choice(text, _LR)
    example, sweep = "" if len(rates) > 1 else text, "--lr sweep takes for each arm the best of three rates around it"
    raise CommandError(
        f"--lr says how learning rates are chosen, and {text!r} is {'a rate' if example else 'several rates'}",
        where="slm ablate",
        limit=", ".join(_LR),
        fix=f"--set optim.lr={example or 'RATE'}, the rate of all arms; {sweep}",
        option="--lr",
    )


def _data_named(value: str | None, arguments: Sequence[str]) -> str:
    """For an option of data: they are an argument if they are packed, and else text."""
    if value is not None and has_manifest(value):
        return f"an argument for the data: {shlex.join(['slm', 'ablate', value])}"
    return f"--text {'CORPUS' if value is None else shlex.quote(value)}"


_HABITS = {
    **SETTING_HABITS,
    **dict.fromkeys(("--data", "--dataset", "--corpus", "--files", "--input"), _data_named),
    **BUDGET_HABITS,
    "--seed": instead("leave it out: --seeds N takes the seeds from 0 on, the same for each arm"),
}


@command(
    "ablate", example="slm ablate -t a.json -t b.json --text corpus/ --match bytes --cpu -o ablation", habits=_HABITS
)
@argument("data", metavar="[DATA...]", nargs=-1, help="Packed data of each arm, of the same documents; or --text.")
@option("--tokenizer", "-t", "tokenizers", multiple=True, metavar="TOK",
        help=f"The tokenizer of an arm: {TOKENIZER}. Repeat for each arm.")  # fmt: skip
@option("--text", multiple=True, metavar="CORPUS", help="The text of all arms, which is packed with each tokenizer.")
@option("--vocabs", metavar="N,N,...", type=LIST, panel=AXES,
        help="Arms are slices of one tokenizer: that of -t, or one that is trained.")  # fmt: skip
@option("--patterns", metavar="NAME,...|NAME=REGEX", type=Parsed(_patterns), multiple=True, panel=AXES,
        help="Arms differ in the pattern: slm,gpt2,o200k, or a regex with a name. Repeat for several.")  # fmt: skip
@option("--schemes", metavar="NAME,...", type=LIST, panel=AXES, help="Arms differ in the scheme: bpe,word,char.")
@option("--data-sizes", metavar="SIZE,...", type=LIST, panel=AXES,
        help="Arms differ in the documents that their tokenizer is trained on: 1%,100%, or 20k,200k.")  # fmt: skip
@option("--inference", metavar="RULE,...", type=LIST, panel=AXES,
        help="Arms differ in how one tokenizer, that of -t or a trained one, cuts text: merges,longest,dropout:0.1. "
        "Validation of a dropout arm is cut by merges.")  # fmt: skip
@option("--vocab", metavar="N", type=INTEGER, default=DEFAULT_VOCAB, panel=AXES,
        help="Ids of the tokenizers that are trained.")  # fmt: skip
@option("--val", multiple=True, metavar="DATA|RULE", show_default="the split val",
        help="Validation data of each arm, in their order; with --text a rule such as tail:10%.")  # fmt: skip
@corpus_options
@option("--match", choices=MATCHES, default="bytes", help="What is equal over the arms.")
@option("--also", metavar="MATCH,...", type=Parsed(_matches, expects=f"names among {', '.join(MATCHES)}"),
        help="Also train under these matches: a verdict may depend on it.")  # fmt: skip
@option("--seeds", metavar="N", type=SEEDS, default=3, help="Runs of each arm; a verdict needs 3.")
@option("--baseline", metavar="NAME", show_default="the first one", help="The arm that the others are compared with.")
@option("--margin", metavar="SHARE", type=Parsed(_margin, expects="a share such as 0.25% or 0.0025"), default="0.25%",
        help="Difference below which arms count as equivalent, as a share of bits per byte.")  # fmt: skip
@option("--lr", metavar="shared|sweep", type=Parsed(_lr), default="shared",
        help="One learning rate for all arms, or for each the best of three on a short run.")  # fmt: skip
@option("--preset", metavar="NAME", show_default=f"by the size of the data; {CPU_PRESET} with --cpu",
        help="Shape and settings of the models.")  # fmt: skip
@budget_option
@set_option
@option("--cpu", is_flag=True, help="Train small models on the CPU.")
@setting_option("run.threads", overrides=True)
@option("--exploratory", is_flag=True, help="Go on with a changed command; the result is marked as exploratory.")
@output_options(default="ablation", metavar="DIR", help="The folder of the ablation.",
                force="Begin again: remove the ablation in the folder.")  # fmt: skip
def ablate(
    data: tuple[str, ...],
    tokenizers: tuple[str, ...],
    text: tuple[str, ...],
    vocab: int,
    val: tuple[str, ...],
    read: ReadOptions,
    match: str,
    also: list[str] | None,
    seeds: float,
    baseline: str | None,
    margin: float,
    lr: str,
    preset: str | None,
    budget: str | None,
    sets: tuple[str, ...],
    cpu: bool,
    threads: str | None,
    exploratory: bool,
    output: str,
    force: bool,
    patterns: tuple[list[str], ...],
    **axes: list[str] | None,
) -> Outcome:
    """Say which tokenizer is better for a model: train matched models, and compare their bits per byte.

    All arms read the same documents, in models that differ in nothing but the vocabulary. What is compared is locked
    before the first run. The same command continues after an interruption, to the same result.
    """
    refuse_list(arguments_of_command(), lambda sizes: _with_sizes(sizes, data))
    matches = _all_matches(match, also or [])
    axis = _check_arms(data, tokenizers, text, {"patterns": list(chain(*patterns)), **axes})
    _check_vocab(axis, tokenizers)
    settings = _settings(preset, budget, sets, cpu=cpu, threads=threads)
    folder = Path(output)
    from slmmodel.ablation.arms import check_same_documents
    from slmmodel.cli import ablation_arms
    from slmmodel.cli.ablation_job import AblationJob, check_baseline, make_request

    with locked(folder), _begun(folder, force=force):
        if data:
            require_text(read, data[0])
            arms = ablation_arms.open_packed(data, val)
        else:
            planned = _text_arms(tokenizers, axis, text, read, folder, val=_rule(val), vocab=vocab)
            check_baseline(baseline, [arm.name for arm in planned])
            arms = ablation_arms.pack_text(text, planned, folder, read, _rule(val))
        check_same_documents(arms)
        request = make_request(
            arms, baseline=baseline, matches=matches, seeds=int(seeds), margin=margin, lr=lr, settings=settings
        )
        result = AblationJob(request, folder, exploratory=exploratory).run()
        page = _write_page(folder)
    times = files.read_times(folder)
    written = {"result": str(folder / files.RESULT), "page": page}
    return Outcome({**result, "path": output, "written": written}, lambda: show(result, times, written))


def _check_vocab(axis: Axis | None, tokenizers: Sequence[str]) -> None:
    """Raises `OptionError` for --vocab where no tokenizer of that size is trained."""
    if not is_given("vocab") or (axis is not None and axis[0] != "vocabs" and not tokenizers):
        return
    why = "with --vocabs, which name the sizes" if axis and axis[0] == "vocabs" else "where no tokenizer is trained"
    raise OptionError(f"--vocab has no effect {why}", where="slm ablate", fix="leave --vocab out", option="vocab")


def _all_matches(match: str, also: Sequence[str]) -> list[str]:
    """The matches of all views. Raises `OptionError` for one that is named twice."""
    repeated = next((name for name, times in Counter([match, *also]).items() if times > 1), None)
    if repeated is not None:
        fix = "leave it out of --also" if len(also) > 1 else "leave --also out"
        raise OptionError(f"--match and --also name {repeated} twice", where="slm ablate", fix=fix, option="also")
    return [match, *also]


@contextmanager
def _begun(folder: Path, *, force: bool) -> Iterator[None]:
    """The folder of an ablation; one that is refused before its lock leaves no tokenizers and no data of its own."""
    files.begin(folder, force=force)
    made = [path for name in (files.TOKENIZERS, files.DATA) if not (path := folder / name).exists()]
    try:
        yield
    except (SlmtokError, SlmmodelError):
        for path in made if not (folder / files.LOCK).exists() else ():
            shutil.rmtree(path, ignore_errors=True)
        raise


def _settings(preset: str | None, budget: str | None, sets: Sequence[str], *, cpu: bool, threads: str | None) -> Any:
    """The settings that all runs share; `--cpu` decides size and length where nothing else does."""
    if cpu and preset is None and budget is None and not any(each.startswith("run.budget.") for each in sets):
        budget = CPU_BUDGET
    values = {"model.preset": preset or (CPU_PRESET if cpu else None), "run.threads": threads}
    return read_settings(None, sets, budget, values | ({"run.device": "cpu"} if cpu else {}))


def _write_page(folder: Path) -> str | None:
    """Writes the page of the ablation; None, with a note, where a package that it needs is not installed."""
    from slmmodel.cli.report import make_page
    from slmtok.errors import MissingExtra

    try:
        make_page([str(folder)])[0].save(str(folder / files.PAGE), force=True)
    except MissingExtra as error:
        note_of_command(f"no {files.PAGE}: {error.fact}; {error.fix}")
        return None
    return str(folder / files.PAGE)


Axis: TypeAlias = "tuple[str, list[str]]"
"""The name of an axis, and its values."""


def _not_packed(path: str, data: Sequence[str]) -> OptionError:
    """The error for a tokenizer or a text in the place of packed data."""
    tokenizers = [each for each in data if is_tokenizer(each)]
    texts = [each for each in data if each not in tokenizers and os.path.exists(each) and is_text(each)]  # noqa: PTH110
    is_arm = path in tokenizers
    words = [word for word in arguments_of_command() if word not in data]
    words += [part for each in tokenizers or ("a.json", "b.json") for part in ("-t", each)]
    words += [part for each in texts or ("CORPUS",) for part in ("--text", each)]
    return OptionError(
        f"{path!r} is {'a tokenizer' if is_arm else 'text'}, not packed data",
        limit="packed data, or --text with a tokenizer for each arm",
        fix=shlex.join(["slm", "ablate", *words]),
        option="data",
    )


def _without_flag(data: Sequence[str], what: str, flag: str) -> OptionError:
    """The error for tokenizers or texts that are arguments; the fix puts the flag before each."""
    words = [part for word in arguments_of_command() for part in ((flag, word) if word in data else (word,))]
    fact, fix = f"{data[0]!r} is {what}, not packed data", shlex.join(["slm", "ablate", *words])
    return OptionError(fact, limit=f"{flag} names one", fix=fix, option="data")


def _with_sizes(sizes: Sequence[str], data: Sequence[str]) -> str:
    """The fix for several sizes of one option: that for several, of a text; with packed data, which have one size,
    the command without one or the other.
    """
    several = ["--vocabs", ",".join(sizes)]
    named = [path for path in data if path not in sizes]
    if not named:
        return shlex.join(several)
    words = [word for word in without(VOCAB_FLAGS, arguments_of_command()) if word not in sizes]
    packed = [path for path in named if has_manifest(path)]
    texts = [path for path in named if path not in packed]
    texts = texts or ([] if any(word.partition("=")[0] == "--text" for word in words) else ["TEXT"])
    rest = [word for word in words if word not in data]
    of_text = shlex.join(["slm", "ablate", *rest, *several, *chain(*(("--text", text) for text in texts))])
    return f"{of_text}, or {shlex.join(['slm', 'ablate', *words])}" if len(packed) > 1 else of_text


def _with_data(data: Sequence[str], flags: Sequence[str], n_tokenizers: int) -> OptionError:
    """The error for packed data with options of a text: the command without one or the other."""
    words = arguments_of_command()
    lacking = [] if "--text" in flags else ["--text", "TEXT"]
    # Without an axis, each tokenizer is an arm.
    lacking += ["-t", "TOK"] if n_tokenizers == 1 and {*flags} <= {"-t", "--text"} else []
    of_text = shlex.join(["slm", "ablate", *(word for word in words if word not in data), *lacking])
    of_data = shlex.join(["slm", "ablate", *without([*flags, "--tokenizer"], words)])
    return OptionError(
        f"packed data together with {', '.join(flags)}",
        limit="packed data have their tokenizer; -t, --text and the axes are of a text",
        fix=f"{of_data}, or {of_text}" if len(data) > 1 else of_text,
        option="data",
    )


def _check_arms(
    data: Sequence[str], tokenizers: Sequence[str], text: Sequence[str], axes: Mapping[str, list[str] | None]
) -> Axis | None:
    """The axis of the arms, where one is given.

    Raises `OptionError` unless the arms are packed data, or a text with two tokenizers or more, or with one axis.
    """
    example = "slm ablate -t a.json -t b.json --text CORPUS, or slm ablate DATA_A DATA_B"
    given = [(name, values) for name, values in axes.items() if values]
    flags = [f"--{name.replace('_', '-')}" for name, _ in given]
    if data and text and not tokenizers and not given and all(map(is_tokenizer, data)):
        raise _without_flag(data, "a tokenizer", "-t")
    if data and (tokenizers or given) and not text and all(Path(path).exists() and is_text(path) for path in data):
        raise _without_flag(data, "text", "--text")
    if data and (tokenizers or text or given):
        if absent := [word for word in data if not os.path.exists(word)]:  # noqa: PTH110
            words = [word for word in arguments_of_command() if word not in absent]
            raise OptionError(
                f"{absent[0]!r} is no file or folder, and stands outside of an option",
                limit="with --text every value belongs to an option; a list has commas, and no spaces",
                fix=f"leave it out: {shlex.join(['slm', 'ablate', *words])}",
                option="data",
            )
        raise _with_data(data, [*["-t"] * bool(tokenizers), *["--text"] * bool(text), *flags], len(tokenizers))
    if len(given) > 1:
        raise OptionError(
            f"{flags[0]} and {flags[1]} together", limit="one axis", fix=f"only {flags[0]}", option="data"
        )
    if given and len(tokenizers) > (given[0][0] in ("vocabs", "inference")):
        limit = "--vocabs and --inference take one tokenizer, the other axes none: they train their own"
        raise OptionError(f"{flags[0]} with {len(tokenizers)} -t", limit=limit, fix="leave out -t", option="tokenizer")
    if ((tokenizers or given) and not text) or (text and not tokenizers and not given):
        missing = "-t TOK for each arm" if text else "--text CORPUS"
        lacking = ["-t", "TOK"] * max(2 - len(tokenizers), 0) if not given else []
        lacking += [] if text else ["--text", "CORPUS"]
        fix = shlex.join(["slm", "ablate", *arguments_of_command(), *lacking])
        raise OptionError(f"{missing} is missing", fix=fix, option="text")
    arms = data or tokenizers
    if not given and len(arms) < 2:
        words = [*arguments_of_command(), *(["DATA_B"] if data else ["-t", "TOK"])]
        fix = shlex.join(["slm", "ablate", *words]) if arms else example
        raise OptionError(f"an ablation has two arms or more, not {len(arms)}", fix=fix, option="data")
    runs = [path for path in data if is_run(path)]
    for path in data:
        refuse_run(
            path,
            comparison_of(runs) if len(runs) > 1 else "name packed data, as slmtok pack writes them",
            "packed data",
        )
        refuse_file_of_data(path)
        if is_text(path):
            raise _not_packed(path, data)
    if given:
        from slmmodel.cli.ablation_arms import parse_values

        parse_values(*given[0])
    return given[0] if given else None


def _rule(val: Sequence[str]) -> str:
    """The rule of the split of a text. Raises `OptionError` for several."""
    if len(val) > 1:
        raise OptionError(f"{len(val)} rules --val for one text", fix=f"--val {val[0]}", option="val")
    return val[0] if val else "auto"


def _text_arms(
    files: Sequence[str],
    axis: Axis | None,
    text: Sequence[str],
    read: ReadOptions,
    folder: Path,
    *,
    val: str,
    vocab: int,
) -> list[TextArm]:
    """The names of the arms, their tokenizers, and how these cut text."""
    import slmtok
    from slmmodel.cli.ablation_arms import Recipe, TextArm, parse_values, train_tokenizers, unique_names
    from slmmodel.cli.ablation_sizes import check_parts, check_sizes
    from slmtok.opening import load

    def train(recipes: Sequence[Recipe]) -> list[Tokenizer]:
        return train_tokenizers(recipes, text, folder, read, val=val, vocab=vocab)

    if axis is None:
        names = unique_names([Path(name).name.removesuffix(".json") for name in files])
        return [TextArm(name, load(file)) for name, file in zip(names, files, strict=True)]
    recipes = parse_values(*axis)
    if axis[0] == "vocabs":
        largest = max(recipes, key=lambda recipe: int(recipe.options["vocab_size"]))
        sizes = check_sizes(list(map(int, axis[1])))
        whole = load(files[0]) if files else train([largest])[0]
        if files:
            check_parts(whole, files[0], max(sizes), [*text, *to_flags(read)])
        tokenizers = [slmtok.slice(whole, size) for size in sizes]
    elif axis[0] == "inference":
        tokenizers = [load(files[0]) if files else train([Recipe("shared")])[0]] * len(recipes)
    else:
        tokenizers = train(recipes)
    return [TextArm(each.name, tok, each.inference) for each, tok in zip(recipes, tokenizers, strict=True)]


# ---------------------------------------------------------------- the table


def show(result: dict[str, Any], times: dict[str, Any], written: dict[str, str | None]) -> None:
    """Prints the arms of each match, the verdicts, and what they hold for."""
    from slmmodel.cli.ablation_sections import guessing, inequality

    if result["exploratory"]:
        write_line("EXPLORATORY: changed after the first run: " + "; ".join(result["exploratory"]))
    vocabularies = {arm["name"]: arm for arm in result["arms"]}
    baselines = _baselines(result["baselines"])
    for view in result["views"]:
        head = ("arm", "vocabulary", "bytes/id", "embedding", "ids", "bytes", "FLOPs", "time", "bpb", "95 %")
        rows = [_line(row, vocabularies[row["name"]], times) for row in view["arms"]]
        rows += baselines
        write_line(f"match {view['match']}: equal {view['equal']}; differs: {view['differs']}")
        write_text(table(head, rows))
        realised = view["realised"].get(view["quantity"])
        if unequal := inequality(view, _apart_in_time(view, times) if realised is None else realised):
            write_line(unequal)
        for row in view["arms"]:
            if row["no_better_than_guessing"]:
                write_line(guessing(row))
        for pair in view["pairs"]:
            write_line(pair["verdict"])
    held, trained = result["documents"]["val"], result["documents"]["train"]
    print_rows(
        [
            ("holds for", result["scope"]),
            ("scored", f"{counted(held['documents'], 'document')}, {format_bytes(held['bytes'])}"),
            ("baselines", baseline_limits(result["baselines"], held["bytes"]) if result["baselines"] else ""),
            ("trained on", f"{counted(trained['documents'], 'document')}, {format_bytes(trained['bytes'])}"),
            ("result", str(written["result"])),
            ("page", written["page"] or ""),
        ]
    )


def _apart_in_time(view: dict[str, Any], times: dict[str, Any]) -> float:
    """How much longer the arm with the longest training took than that with the shortest; 0 where it is not known."""
    from slmmodel.ablation.matches import spread

    taken = [[times["runs"].get(Path(run).name) for run in row["runs"]] for row in view["arms"]]
    if any(seconds is None for row in taken for seconds in row):
        return 0.0
    return spread([sum(row) for row in taken])


def _baselines(found: dict[str, Any] | None) -> list[list[str]]:
    """The lines of what needs no model: the best n-gram of bytes, and xz; none for data without a tokenizer."""
    if found is None:
        return []
    from slmmodel.cli.baselines import best_ngram

    order, bits = best_ngram(found)
    lines = {f"byte {order}-gram": bits, "xz": found["xz"]["after_train"]}
    return [[name, *[""] * 7, f"{value:.4f}", ""] for name, value in lines.items()]


def _line(row: dict[str, Any], arm: dict[str, Any], times: dict[str, Any]) -> list[str]:
    known = [times["runs"].get(Path(run).name) for run in row["runs"]]
    seconds = None if None in known or not known else sum(known) / len(known)
    low_high = "not known" if row["interval"] is None else "{:.4f} to {:.4f}".format(*row["interval"])
    return [
        row["name"],
        f"{arm['n_vocab']:,}",
        f"{arm['bytes_per_token']:.3f}",
        f"{row['embedding_share']:.1%}",
        format_count(row["tokens"]),
        format_bytes(row["bytes"]),
        f"{row['flops']:.3g}",
        "" if seconds is None else format_time(seconds),
        f"{row['bpb']:.4f}",
        low_high,
    ]
