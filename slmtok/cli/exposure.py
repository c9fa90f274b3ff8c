"""`slmtok exposure`: the tokens that a training on packed data leaves rare."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok.analysis.exposure import DEFAULT_BELOW
from slmtok.analysis.exposure import exposure as measure
from slmtok.cli.arguments import is_packed, value_after, without_options
from slmtok.cli.files import JSON, STDIO, check_output, names_tokenizer, writing
from slmtok.cli.options import FLOAT, INTEGER, Parsed, argument, command, option, output_options, parse_integer
from slmtok.cli.output import Outcome, counted, print_rows, table, write_text
from slmtok.cli.packed import not_packed, open_data
from slmtok.cli.progress import Progress
from slmtok.errors import SlmtokError
from slmtok.files import free_name, missing_input
from slmtok.option_values import parse_count
from slmtok.token_text import escape_token

if TYPE_CHECKING:
    from slmtok.analysis.exposure import Exposure
    from slmtok.shards import Shards


_TEXT_FLAGS = ("--on", "--text", "--corpus")


def _parse_updates(text: str) -> int:
    """A number of updates. Raises `ValueError`."""
    try:
        return parse_integer(text)
    except ValueError:
        raise ValueError(f"takes a number of updates such as {DEFAULT_BELOW}, and no share, not {text!r}") from None


def _of_text(value: str | None, arguments: Sequence[str]) -> str:
    """What takes the place of `--on TEXT`: packing the text with the tokenizer that stands in the place of the data."""
    text = shlex.quote(value or "CORPUS")
    words = [each for each in without_options(arguments, _TEXT_FLAGS) if each != value]
    if any(is_packed(word) for word in words):
        return "leave --on out: the text is that of the packed data"
    tokenizer = next(filter(names_tokenizer, words), None)
    flags = ("-t", "--tokenizer", f"-t{tokenizer}", f"--tokenizer={tokenizer}", tokenizer)
    folder = free_name("data")
    rest = ["slmtok", "exposure", folder, *(word for word in words if word not in flags)]
    packing = f"slmtok pack {text} -t {shlex.quote(tokenizer or 'TOK')} -o {shlex.quote(folder)}"
    return f"{packing} && {shlex.join(rest)}"


def _of_tokenizer(value: str | None, arguments: Sequence[str]) -> str:
    """What takes the place of `-t TOK`: nothing for packed data; a text is packed with it."""
    words = without_options(arguments, ("-t", "--tokenizer"))
    text = value_after(("--on",), arguments) or next((each for each in words if Path(each).is_file()), None)
    if value is None or text is None or any(is_packed(word) for word in words):
        return "leave it out: packed data have their tokenizer"
    return _of_text(text, arguments)


def _of_budget(value: str | None, arguments: Sequence[str]) -> str:
    """What takes the place of `--budget tokens=20K` of slm: how often a training of that many ids reads the split."""
    from slmtok.shards import open_shards

    kind, _, number = (value or "").partition("=")
    if kind == "epochs" and number:
        return f"--epochs {shlex.quote(number)}"
    data, split = next(filter(is_packed, arguments), None), value_after(("--split",), arguments) or "train"
    read = "how often the training reads the data"
    with suppress(SlmtokError, ValueError):
        n_tokens = 0 if data is None else open_shards(data).n_tokens(split)
        if n_tokens:
            read = f"how often the training reads the {n_tokens:,} ids of {split}"
        if n_tokens and kind == "tokens":
            return f"--epochs {parse_count(number) / n_tokens:.4g}: {read}"
    return f"--epochs X: {read}"


_HABITS = {
    "--budget": _of_budget,
    **dict.fromkeys(("--tokens", "--max-tokens"), lambda value, arguments: _of_budget(f"tokens={value}", arguments)),
    **dict.fromkeys(("--steps", "--max-steps"), lambda value, arguments: _of_budget(None, arguments)),
    **dict.fromkeys(_TEXT_FLAGS, _of_text),
    **dict.fromkeys(("-t", "--tokenizer"), _of_tokenizer),
}


@command("exposure", example="slmtok exposure data/ --epochs 2 -o dead.json", habits=_HABITS)
@argument("data", metavar="DATA")
@option("--epochs", metavar="X", type=FLOAT, default=1.0, help="How often the training reads the data.")
@option(
    "--below", metavar="N", type=Parsed(_parse_updates), default=DEFAULT_BELOW, help="An id with fewer updates is rare."
)
@option("--split", choices=("train", "val"), default="train", help="Which split is trained on.")
@option("--top", metavar="N", type=INTEGER, default=20, help="How many of the rarest ids the table has.")
@output_options(help="Write the rare ids as JSON, for slmtok prune --ids.")
def exposure(data: str, epochs: float, below: int, split: str, top: int, output: str | None, force: bool) -> Outcome:
    """Count how often a training on packed data meets each id, and list the ids that it hardly meets.

    A rare id keeps a vector near its random beginning. A scaffold is a rare id whose tokens are always merged further:
    slmtok prune keeps it as long as a larger token needs it.
    """
    if output is not None:
        check_output(output, inputs=[data], force=force, content=JSON)
    shards = _open(data)
    from slmtok.shards.check import packed_tokenizer

    tokenizer = packed_tokenizer(shards.folder, shards.fingerprint)
    with Progress() as progress:
        found = measure(shards, tokenizer, split=split, epochs=epochs, below=below, progress=progress)
    result = _result(found, split, top)
    if output is not None:
        content = {"ids": found.rare.tolist(), "below": below, "epochs": epochs, "fingerprint": tokenizer.fingerprint}
        with writing(output, force=force) as file:
            file.write((json.dumps(content) + "\n").encode())
        if output == STDIO:
            return Outcome(result)
    return Outcome(result, lambda: _print(result, data))


def _open(path: str) -> Shards:
    from slmtok.shards import Shards

    if not Path(path).exists():
        raise missing_input(path)
    data = open_data(path)
    if not isinstance(data, Shards):
        raise not_packed(path, data)
    return data


def _result(found: Exposure, split: str, top: int) -> dict[str, Any]:
    vocabulary = found.vocabulary
    rows = [
        {
            "id": id,
            "token": escape_token(vocabulary.token_bytes(id)),
            "updates": round(float(found.updates[id]), 3),
            "scaffold": bool(found.scaffold[id]),
        }
        for id in found.rare[:top].tolist()
    ]
    return {
        "split": split,
        "epochs": found.epochs,
        "below": found.below,
        "n_vocab": vocabulary.n_vocab,
        "updates": round(float(found.updates.sum()), 3),
        "special_share": round(found.special_share, 6),
        "learned": len(found.learned),
        "rare": len(found.rare),
        "never": int((found.updates[found.learned] == 0).sum()),
        "scaffolds": int(found.scaffold[found.rare].sum()),
        "rarest": rows,
    }


def _times(number: float) -> str:
    return "once" if number == 1 else f"{number:g} times"


def _print(result: dict[str, Any], title: str) -> None:
    print_rows(
        [
            ("updates", f"{result['updates']:,.0f}, with {result['split']} read {_times(result['epochs'])}"),
            ("specials", f"{result['special_share']:.2%} of the updates"),
            (
                "learned ids",
                f"{result['learned']:,}, {result['rare']:,} of them with fewer than {result['below']:,} updates",
            ),
            ("never met", counted(result["never"], "id")),
            ("scaffolds", f"{counted(result['scaffolds'], 'rare id')} that larger tokens are made of"),
        ],
        title=title,
    )
    if result["rarest"]:
        rows = [
            [str(row["id"]), row["token"], f"{row['updates']:,.0f}", "scaffold" if row["scaffold"] else ""]
            for row in result["rarest"]
        ]
        write_text("\n" + table(["id", "token", "updates", ""], rows, left=(1, 3)))
