"""The arms of an ablation: packed folders, or text that is packed with each tokenizer; arms along an axis.

Those differ in one thing, `AXES` by their option: tokenizers, or how one of them cuts text. Tokenizers are trained on
the training documents alone. To add an axis, write its line in `AXES` and its option.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from slmmodel.ablation.arms import Arm
from slmmodel.cli import ablation_files as files
from slmmodel.cli.reading import to_record
from slmmodel.cli.text import no_document, too_small, training_documents
from slmmodel.data import open_data
from slmmodel.errors import OptionError
from slmmodel.sizes import listed, parse_count, parse_share
from slmtok.cli.progress import Progress
from slmtok.files import resolved
from slmtok.option_values import check_inference, dropout_rate
from slmtok.patterns import pattern_meant

if TYPE_CHECKING:
    from slmtok import Tokenizer
    from slmtok.options import ReadOptions


class TextArm(NamedTuple):
    """An arm that is packed from text."""

    name: str
    tokenizer: Tokenizer
    inference: str = "merges"
    """how the tokenizer cuts text: that of `slmtok.options.PackOptions`"""


def unique_names(names: Sequence[str]) -> list[str]:
    """Each name once: a second `a` is `a-2`."""
    found: list[str] = []
    for name in names:
        number, unique = 2, name
        while unique in found:
            number, unique = number + 1, f"{name}-{number}"
        found.append(unique)
    return found


def open_packed(data: Sequence[str], val: Sequence[str]) -> list[Arm]:
    """Arms of packed folders, with their split `val` or a further folder each. Raises what opening raises."""
    if val and len(val) != len(data):
        raise OptionError(
            f"{len(val)} --val for {len(data)} arms",
            limit="the validation data of each arm, in their order; or none, for the split val of each",
            fix=_validation_of(data),
            option="val",
        )
    names = unique_names([resolved(path).name for path in data])
    return [
        Arm(name, open_data(path, held), path, held)
        for name, path, held in zip(names, data, val or ["auto"] * len(data), strict=True)
    ]


def _validation_of(data: Sequence[str]) -> str:
    """The fix for arms without validation data of their own: the split `val`, where each of them has it."""
    if all(open_data(path, "auto").val is not None for path in data):
        return "leave --val out: each of the data has a split val"
    return f"give --val {len(data)} times, once for each of {', '.join(data)}"


def pack_text(text: Sequence[str], planned: Sequence[TextArm], folder: Path, read: ReadOptions, val: str) -> list[Arm]:
    """Packs a corpus for each arm below `folder`, or finds it packed; gives the arms.

    The same command after a kill continues. Raises what packing raises, and `InvalidConfig` where the corpus has too
    few documents for validation.
    """
    from slmtok.options import PackOptions
    from slmtok.shards import pack

    source = json.dumps([text_record(text, read), val], sort_keys=True)
    arms = []
    for name, tokenizer, inference in planned:
        options = PackOptions(**{**vars(read), "val": val, "inference": inference})
        content = [source, tokenizer.fingerprint, *([] if inference == "merges" else [inference])]
        digest = hashlib.sha256(" ".join(content).encode()).hexdigest()
        place = folder / files.DATA / f"{name}-{digest[:8]}"
        if not (place / "manifest.json").exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            with Progress() as progress:
                progress(f"packing {name}", 0, 0)
                pack(list(text), tokenizer, place, options)
        data = open_data(str(place))
        if data.val is None:
            manifest = json.loads((place / "manifest.json").read_bytes())
            raise no_document(", ".join(text), "validation", manifest, ", --document line, or --val tail:10%")
        if not data.train.block(0).nbytes().any():
            raise no_training_text(text, val)
        arms.append(Arm(name, data, str(place), "auto"))
    return arms


def no_training_text(text: Sequence[str], val: str) -> OptionError:
    """The error for a validation split that leaves no byte of the text for training."""
    fact, fix = f"--val {val} leaves no text for training", "--val tail:10%, or a longer text"
    return OptionError(fact, where=", ".join(text), limit="a byte or more", fix=fix, option="val")


def text_record(text: Sequence[str], read: ReadOptions) -> dict[str, Any]:
    """What identifies a corpus: names, sizes and partial digests of its files, and the options of reading."""
    from slmtok.cli.files import identified_files
    from slmtok.corpus import STDIN
    from slmtok.shards.plan import source_names, sources

    found = identified_files(list(text), read)
    if STDIN in found:
        raise OptionError(
            "an ablation reads its text several times, and stdin only once", fix="--text FILE", option="text"
        )
    return {"files": sources(found, source_names(found)), **to_record(read)}


@dataclass(frozen=True)
class Recipe:
    """How the tokenizer of an arm is trained, and how it cuts text."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    """of `slmtok.train`"""
    share: float = 1.0
    """of the training documents"""
    documents: int | None = None
    """their number, instead of a share"""
    fits_text: bool = False
    """whether it may have fewer ids, where the text supports no more"""
    inference: str = "merges"
    """that of `slmtok.options.PackOptions`"""


class Axis(NamedTuple):
    """What the values of an axis are, and the arm of each."""

    expects: str
    example: str
    """values, separated by commas"""
    recipe: Callable[[str], Recipe | None]
    """None for a word that is no value"""


def _of_pattern(value: str) -> Recipe | None:
    from slmtok.patterns import pattern_names

    name, _, regex = value.partition("=")
    is_pattern = value in pattern_names() or re.fullmatch(r"[A-Za-z0-9_-]+=.+", value, re.DOTALL)
    return Recipe(name, {"pattern": regex or name}) if is_pattern else None


def _of_size(value: str) -> Recipe | None:
    """A number of documents above 1, such as 500 or 20k, or a share of them."""
    found, share = re.fullmatch(r"(\d+)([kM]?)", value), parse_share(value)
    number = int(found[1]) * {"": 1, "k": 10**3, "M": 10**6}[found[2]] if found else 0
    if number > 1:
        return Recipe(f"data-{value}", documents=number)
    return Recipe(f"data-{value.replace('%', 'pct')}", share=share) if share and 0 < share <= 1 else None


def _of_inference(value: str) -> Recipe | None:
    if value not in ("merges", "longest", "dropout") and dropout_rate(value) is None:
        return None
    rule = check_inference("inference", value)
    return Recipe(rule.replace(":", "-"), inference=rule)


AXES = {
    "vocabs": Axis("numbers of ids", "1024,2048,4096", lambda value:
                   Recipe(f"vocab-{value}", {"vocab_size": int(value)}) if value.isdecimal() else None),
    "patterns": Axis("names of patterns, or NAME=REGEX", "slm,gpt2,o200k", _of_pattern),
    "schemes": Axis("bpe, word and char", "bpe,word,char", lambda value:
                    Recipe(value, {"scheme": value}, fits_text=value != "bpe")
                    if value in ("bpe", "word", "char") else None),
    "data_sizes": Axis("shares or numbers of training documents", "1%,10%,100%", _of_size),
    "inference": Axis("merges, longest and dropout:P, with P above 0 and up to 1", "merges,longest,dropout",
                      _of_inference),
}  # fmt: skip


def train_tokenizers(
    recipes: Sequence[Recipe], text: Sequence[str], folder: Path, read: ReadOptions, *, val: str, vocab: int
) -> list[Tokenizer]:
    """Trains the tokenizer of each recipe, or finds it below `folder`. Raises what training raises.

    Raises `OptionError` where the text supports fewer ids.
    """
    import slmtok
    from slmtok.errors import CorpusTooSmall
    from slmtok.options import PackOptions

    record = text_record(text, read)
    places = [folder / files.TOKENIZERS / f"{each.name}-{_digest(record, val, vocab, each)}.json" for each in recipes]
    if not all(place.exists() for place in places):
        (folder / files.TOKENIZERS).mkdir(parents=True, exist_ok=True)
        options = PackOptions(**{**vars(read), "val": val})
        with training_documents(list(text), folder / files.TOKENIZERS, options) as documents:
            counted = any(each.documents is not None for each in recipes)
            available = sum(1 for _ in documents()) if counted else 0
            for given, place in zip(recipes, places, strict=True):
                recipe = given if given.documents is None else _as_share(given, available)
                chosen = {"vocab_size": vocab, **recipe.options}
                try:
                    tok = slmtok.train(slmtok.Texts(_part(documents(), recipe.share)), **chosen)
                except CorpusTooSmall as error:
                    size = sum(map(len, _part(documents(), recipe.share)))
                    if not size and any(documents()):
                        raise OptionError(
                            f"--data-sizes {recipe.share * 100:.10g}% has no document: "
                            f"there are {sum(1 for _ in documents()):,} for training",
                            limit="a document or more for each share",
                            fix="a larger share, or --separator, which makes documents of one file",
                            option="data_sizes",
                        ) from None
                    if not size:
                        raise no_training_text(text, val) from None
                    if not recipe.fits_text or "supported" not in error.fields:
                        flag = "--vocabs" if "vocab_size" in recipe.options else "--vocab"
                        raise too_small(error, chosen["vocab_size"], ", ".join(text), size, flag) from None
                    chosen["vocab_size"] = error.fields["supported"]
                    tok = slmtok.train(slmtok.Texts(_part(documents(), recipe.share)), **chosen)
                tok.save(place, force=True)
    return [slmtok.load(place) for place in places]


def _as_share(recipe: Recipe, available: int) -> Recipe:
    """A recipe of a number of documents as one of a share. Raises `OptionError` where there are fewer."""
    assert recipe.documents is not None
    if recipe.documents > available:
        raise OptionError(
            f"--data-sizes {recipe.documents:,}: the text has {available:,} documents for training",
            limit="at most as many",
            fix=f"--data-sizes {max(1, available // 10)},{available}, or more text",
            option="data_sizes",
        )
    return replace(recipe, share=recipe.documents / available)


def parse_values(axis: str, values: Sequence[str]) -> list[Recipe]:
    """The recipes of an axis. Raises `OptionError` for a value that it does not take."""
    flag, kind = f"--{axis.replace('_', '-')}", AXES[axis]
    found = [kind.recipe(value) for value in values]
    wrong = next((value for value, recipe in zip(values, found, strict=True) if recipe is None), None)
    recipes = [recipe for recipe in found if recipe is not None]
    if wrong is not None or len({recipe.name for recipe in recipes}) < len(values) or len(values) < 2:
        fact = f"{flag} {','.join(values)}" + (
            f": {wrong!r} is not one of {kind.expects}"
            if wrong is not None
            else " is one arm, and an ablation compares two or more"
            if len(values) < 2
            else " repeats an arm"
        )
        values = [*dict.fromkeys(values)]
        counts = [parse_count(value) for value in values] if axis == "vocabs" and len(values) > 1 else [None]
        example = f"{flag} {kind.example if None in counts else ','.join(map(str, counts))}"
        if axis == "patterns" and (line := _line_of_patterns(values)):
            example = line
        elif wrong is None and axis != "vocabs":
            others = [] if len(values) > 1 else kind.example.split(",")
            example = f"{flag} {','.join(dict.fromkeys([*values, *others]))}"
        elif axis == "vocabs" and len(values) == 1 and (size := parse_count(values[0])):
            example = f"{flag} {size},{2 * size}"
        elif wrong is not None and all(kind.recipe(one) for one in ",".join(map(listed, values)).split(",")):
            example = f"{flag} {','.join(map(listed, values))}"
        raise OptionError(fact, limit="different values, separated by commas", fix=example, option=axis)
    return recipes


_REGEX = re.compile(r"[][\\(){}|*+?^$]")
"""A character that a regex has and no name."""


def _named_regex(value: str) -> str | None:
    """A regex with a name before it; None for a word that is no regex."""
    name, equals, regex = value.partition("=")
    if not equals or _REGEX.search(name):
        name, regex = "", value
    return f"{re.sub('[^A-Za-z0-9_-]+', '-', name) or 'mine'}={regex}" if _REGEX.search(regex) else None


def _line_of_patterns(values: Sequence[str]) -> str | None:
    """The options for two or more patterns, each regex alone, since it may hold commas; None if a value is no pattern.

    A regex without a name gets one, and a repeated name a number.
    """
    meant = [value if _of_pattern(value) else pattern_meant(value) or _named_regex(value) for value in values]
    patterns = [each for each in dict.fromkeys(meant) if each is not None]
    if None in meant:
        return None
    if len(patterns) < 2:
        others = ["slm"] if "=" in patterns[0] else AXES["patterns"].example.split(",")
        patterns = [*dict.fromkeys([*patterns, *others])]
    names = unique_names([each.partition("=")[0] for each in patterns])
    patterns = [
        f"{name}={each.partition('=')[2]}" if "=" in each else each for name, each in zip(names, patterns, strict=True)
    ]
    parts: list[str] = []
    for has_regex, run in groupby(patterns, key=lambda each: "=" in each):
        group = [*run]
        parts += group if has_regex else [",".join(group)]
    return " ".join(f"--patterns {shlex.quote(part)}" for part in parts)


def _part(documents: Iterator[bytes], share: float) -> Iterator[bytes]:
    """This share of the documents, evenly spread; a larger share that is a multiple contains a smaller one."""
    for index, document in enumerate(documents):
        if int((index + 1) * share + 1e-9) > int(index * share + 1e-9):
            yield document


def _digest(record: Mapping[str, Any], val: str, vocab: int, recipe: Recipe) -> str:
    content = [record, val, vocab, recipe.name, dict(recipe.options), recipe.share]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:8]
