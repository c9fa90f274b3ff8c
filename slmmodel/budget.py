"""`Budget`: how long a run is, and the budgets that people mean by other words."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pydantic import ValidationError, model_serializer, model_validator

from slmmodel.config_values import EACH_RUN, PositiveCount, Seconds, Section, Size, option
from slmmodel.errors import Argument, Fix, InvalidConfig, OfCommand, suggestion
from slmmodel.foreign_names import BUDGET_QUALIFIERS, FOREIGN_BUDGETS, SCALED_BUDGETS
from slmmodel.sizes import parse_count, parse_size, parse_time, pointed_numbers


class Budget(Section):
    """How long a run is: exactly one of these; without one the tokens of the preset, at most ten epochs."""

    tokens: PositiveCount | None = option(None, "Tokens, padding included.", gt=0)
    targets: PositiveCount | None = option(None, "Targets that count in the loss.", gt=0)
    bytes: Size | None = option(None, "Bytes of the targets, by vocab.json.", gt=0)
    flops: PositiveCount | None = option(None, "Floating-point operations, forward and backward.", gt=0)
    time: Seconds | None = option(None, "Seconds of training, planned by a probe before step 0.", gt=0)
    epochs: float | None = option(None, "Passes over the data.", gt=0, le=1e9)
    steps: PositiveCount | None = option(None, "Optimizer steps.", gt=0)

    @model_validator(mode="after")
    def _one(self) -> Budget:
        given = list(self.given())
        if len(given) > 1:
            raise InvalidConfig(
                f"run.budget: two budgets: {given[0]} and {given[1]}", fix="keep one of them", option="run.budget"
            )
        return self

    @model_serializer
    def given(self) -> dict[str, Any]:
        """The one that is set, by name."""
        return {name: getattr(self, name) for name in BUDGETS if getattr(self, name) is not None}

    @property
    def kind(self) -> str:
        """Its name."""
        return next(iter(self.given()))

    @property
    def amount(self) -> float:
        """Its value."""
        return float(self.given()[self.kind])

    def spent(self, counters: Mapping[str, Any]) -> float:
        """How much of it these totals have spent. The counters of a checkpoint have no epochs."""
        counted = {"steps": "step", "time": "seconds"}.get(self.kind, self.kind)
        return float(counters.get(counted, 0))

    def is_spent(self, counters: Mapping[str, Any]) -> bool:
        """Whether a checkpoint with these counters has spent it, epochs aside."""
        return self.spent(counters) >= self.amount


BUDGETS = tuple(Budget.model_fields)
BUDGET_EXAMPLES = dict(zip(BUDGETS, ("2M", "2M", "2GB", "1e15", "130s", "3", "500"), strict=True))
"""An amount for each kind, for messages."""


def budget_of(text: str) -> str:
    """The budget that a bare amount stands for: `2min` is a time, `2M` a number of ids, `500` of steps."""
    kind, _, amount = re.sub("[: ]+", "=", text.strip(), count=1).partition("=")
    if kind in BUDGETS:
        return likely_budget(f"{kind}={{}}", amount or BUDGET_EXAMPLES[kind])
    if text.isdecimal() and int(text):
        return f"steps={text}"
    for kind in BUDGETS:
        # `100steps` and `1epoch`.
        unit = next((each for each in (kind, kind.removesuffix("s")) if text.lower().endswith(each)), None)
        if unit and (amount := text[: -len(unit)].rstrip(" _-")):
            return likely_budget(f"{kind}={{}}", amount)
    if text.lower().endswith("b") and parse_count(text) is None and parse_size(text) is not None:
        return f"bytes={text}"
    if 0 < (parse_count(text) or 0) < 1e15:
        return f"tokens={text}"
    time = _UNIT_OF_TIME.sub(lambda match: _UNITS_OF_TIME[match[1].lower()], text)
    if len(times := _times_meant(text)) == 1:
        return f"time={times[0]}"
    return f"time={time}" if 0 < (parse_time(time) or 0) < 1e9 else "tokens=2M"


_UNITS_OF_TIME = {"sec": "s", "second": "s", "minute": "min", "min": "min", "hour": "h", "hr": "h", "day": "d"}
_UNIT_OF_TIME = re.compile(rf"(?<=\d)[ _-]*({'|'.join(_UNITS_OF_TIME)})s?\s*$", re.IGNORECASE)
"""A unit of time as a word: `10 minutes`."""


_SMALLER_UNIT = {"d": "h", "h": "min", "m": "s", "min": "s"}


def _times_meant(text: str) -> list[str]:
    """The seconds of `2h30`, `2 hours 30 minutes` and `2:30:00`; `2:30` is hours or minutes."""
    clock = re.fullmatch(r"(\d+):([0-5]\d)(?::([0-5]\d))?", text, re.ASCII)
    if clock:
        first, second = int(clock[1]) * 60 + int(clock[2]), int(clock[3] or 0)
        return [f"{60 * first + second}s"] if clock[3] else [f"{60 * first}s", f"{first}s"]
    if not re.fullmatch(r"(\d+ *[a-z]+[ ,]*)+(\d+ *[a-z]*)", text.lower(), re.ASCII):
        return []
    seconds, before, one_before = 0.0, "", math.inf
    for number, word in re.findall(r"(\d+) *([a-z]*)", text.lower(), re.ASCII):
        unit = _UNITS_OF_TIME.get(word.removesuffix("s"), word) or _SMALLER_UNIT.get(before, "-")
        part, one = parse_time(number + unit), parse_time(f"1{unit}")
        # `2h,3h` are two times.
        if part is None or one is None or one >= one_before:
            return []
        seconds, before, one_before = seconds + part, unit, one
    return [f"{seconds:.0f}s"]


_NO_LIMIT = re.compile("-1|none|unlimited|inf(inity)?", re.IGNORECASE)
"""How other trainers spell that a number has no limit."""


def meant_amount(budget: str, value: object) -> Fix:
    """The fix for an amount that a budget such as `time={}min` does not take, else an example.

    A size such as `1MB`, which may be of text, or a number of ids; a time of several units, such as `2h30`; the number
    before the word of its kind or `x`, with a decimal comma, and the first of several.
    """
    text, kind = str(value), budget.partition("=")[0]
    if _NO_LIMIT.fullmatch(text):
        return ("leave it out: the budget is then that of the preset, and each run has an end",)
    if kind in ("tokens", "targets") and text.lower().endswith("b") and _is_budget(f"bytes={text}"):
        number = f"{kind}={re.sub('i?[bB]$', '', text)}"
        ids = (", or ", Argument("budget", number), ", which counts ids") if _is_budget(number) else ()
        return (Argument("budget", f"bytes={text}"), ", which counts bytes of text", *ids)
    counted = re.fullmatch(rf"(.+?)[ _-]*(x|times|{kind}|{kind.removesuffix('s')})", text.lower())
    decimal = re.fullmatch(r"(\d+),(\d+)([a-z]*)", text, re.ASCII)
    amounts = [
        *(_times_meant(text) if kind == "time" else []),
        *([counted[1]] if counted else []),
        text.rstrip("bB"),
        *([f"{decimal[1]}.{decimal[2]}{decimal[3]}"] if decimal else []),
        text.partition(",")[0],
        *map(str, pointed_numbers(text)),
    ]
    meant = [budget.format(amount) for amount in amounts if amount != text and _is_budget(budget.format(amount))]
    if meant:
        options = [part for each in meant for part in (", or ", Argument("budget", each))][1:]
        return (*options, *([EACH_RUN] if "," in text else []))
    return (Argument("budget", f"{kind}={BUDGET_EXAMPLES[kind]}"), _EXAMPLE)


_EXAMPLE = ", for instance"


def meant_budgets(given: object, beside: Mapping[str, object]) -> Fix:
    """The fix for a value that names no budget, and for several; a bare number may count batches or ids."""
    if isinstance(given, Mapping) and given:
        given = "=".join(map(str, next(iter(given.items()))))
    text = str(given[0] if isinstance(given, list | tuple) and given else given)
    if _RATIO.fullmatch(text.lower()):
        return _tokens_per_parameter(text, "", beside)
    likely: Fix = (Argument("budget", budget_of(text)),)
    if times := re.fullmatch(r"(\d+(?:\.\d+)?) *x", text.lower()):
        passes = (Argument("budget", f"epochs={times[1]}"), " for passes over the data, or ")
        return (*passes, *_tokens_per_parameter("ratio", times[1], beside))
    is_either = text.isdecimal() and int(text) > 0
    return (*likely, " to count batches, or ", Argument("budget", f"tokens={text}")) if is_either else likely


_BYTES_OF_TEXT = {"word": 6, "char": 1, "character": 1, "letter": 1}
"""Bytes of one, about, in English."""
_DOCUMENTS = ("doc", "document", "text", "story", "stories", "sentence", "line", "record")
_SEQUENCES = ("sequence", "sample", "example", "row", "instance")


def budget_meant(kind: str, amount: str, beside: Mapping[str, object]) -> Fix:
    """The fix for an unknown kind of budget: the budget of this amount that it stands for, else what counts so many.

    beside: the settings that were given, which say what a sequence or a model has.
    """
    if _RATIO.fullmatch(kind.lower()):
        return _tokens_per_parameter(kind, amount, beside)
    words = re.split(r"[^a-z]+", kind.lower())
    processors = {*words} & {"gpu", "cpu", "device", "accelerator"}
    word = "-".join(each for each in words if each not in BUDGET_QUALIFIERS and each not in processors)
    unit, number = word.removesuffix("s"), parse_count(amount)
    if unit in _BYTES_OF_TEXT and number:
        each = _BYTES_OF_TEXT[unit]
        return (Argument("budget", f"bytes={each * number}"), f", at {each} byte{'s' * (each > 1)} for each in English")
    if unit in (*_BYTES_OF_TEXT, *_DOCUMENTS):
        some = f"; slmtok pack --max-docs {number} packs so many of its documents" if number else ""
        return (Argument("budget", "epochs=1"), f", which trains on the whole text once{some}")
    if unit in _SEQUENCES:
        return _tokens_of_sequences(number, beside)
    if scaled := SCALED_BUDGETS.get(word) or SCALED_BUDGETS.get(unit):
        form, factor = scaled
        with suppress(ValueError):
            return (Argument("budget", form.format(f"{float(amount) * factor:.12g}".replace("e+", "e"))),)
    near = suggestion(kind, BUDGETS)
    budget = _form_of(kind.lower().replace("_", "-")) or _form_of(word) or (f"{near}={{}}" if near else None)
    if budget is None:
        return _of_any_kind(amount)
    if not _is_budget(budget.format(amount)):
        meant = meant_amount(budget, amount)
        return (Argument("budget", likely_budget(budget, amount)), *meant[1:]) if meant[-1] == _EXAMPLE else meant
    shared = ", the time of the run: with several devices, divide it by their number"
    return (Argument("budget", budget.format(amount)), *([shared] if processors and "time" in budget else []))


def _form_of(word: str) -> str | None:
    """The budget without its amount, such as `time={}min`, for a name here or elsewhere."""
    named = next((kind for kind in BUDGETS if word in (kind, kind.removesuffix("s"))), None)
    return f"{named}={{}}" if named else FOREIGN_BUDGETS.get(word)


def _of_any_kind(amount: str) -> Fix:
    """The fix for an amount of an unknown kind: what its own form says, else what it may count."""
    likely = budget_of(amount)
    if amount.isdecimal() and int(amount):
        return f"say what {amount} counts: ", Argument("budget", likely), ", for instance, counts batches"
    if likely.endswith(f"={amount}"):
        return (Argument("budget", likely),)
    kinds = [kind for kind in ("epochs", "flops") if _is_budget(f"{kind}={amount}")]
    if kinds:
        return f"say what {amount} counts: ", Argument("budget", f"{kinds[-1]}={amount}"), _EXAMPLE
    return Argument("budget", likely), _EXAMPLE


_RATIO = re.compile(
    r"(target[-_])?(((train|training)[-_])?(tokens?|ids|data|toks?)?[-_]?(per|to)[-_]?(model[-_])?param(eter)?s?"
    r"|(tokens?|data)[-_](to[-_])?param(eter)?s?([-_]ratio)?|param(eter)?s?([-_](to[-_])?(data|tokens?))?([-_]ratio)?"
    r"|chinchilla([-_](ratio|factor|multiple|multiplier|optimal|x))?|ratio|tpp|dn[-_]ratio)"
)
"""Names of budgets elsewhere that count the training tokens of each parameter."""
_CHINCHILLA = 20
"""Tokens of each parameter near the optimum of compute (Hoffmann et al., 2022); many give a small multiple of it."""


def _tokens_per_parameter(kind: str, amount: str, beside: Mapping[str, object]) -> Fix:
    """The fix for a number of tokens of each parameter: the tokens, or how to compute them."""
    try:
        ratio = float(amount or _CHINCHILLA)
    except ValueError:
        ratio = _CHINCHILLA
    is_multiple = "chinchilla" in kind.lower() and bool(amount) and ratio < _CHINCHILLA / 2
    ratio *= _CHINCHILLA if is_multiple else 1
    from slmmodel.models import count
    from slmmodel.models.presets import PRESETS

    name = str(beside.get("model.preset"))
    others = {each for each in beside if each.startswith("model.")} - {"model.preset", "model.seq_len"}
    if name in PRESETS and not others:
        n_vocab, parameters = PRESETS[name].n_vocab, count(PRESETS[name].config()).parameters
        tokens = Argument("budget", f"tokens={max(1, round(ratio * parameters))}")
        return tokens, f", {ratio:g} for each of the {parameters:,} parameters of {name} with {n_vocab:,} ids"
    counted = OfCommand("slm info cpu-demo prints them", "slm info cpu-demo in a shell prints them")
    return (
        *(Argument("budget", "tokens=N"), f", where N is {ratio:g} times the parameters of the model; "),
        *(counted, " for that preset"),
    )


def _tokens_of_sequences(number: int | None, beside: Mapping[str, object]) -> Fix:
    """The fix for a number of sequences: their ids, or how to compute them."""
    from slmmodel.models.presets import preset_lengths

    given = parse_count(str(beside.get("model.seq_len", "")))
    length = given or preset_lengths().get(str(beside.get("model.preset")))
    if number and length:
        return Argument("budget", f"tokens={number * length}"), f", {number:,} sequences of {length:,} ids"
    so_many = f"{number:,} times model.seq_len" if number else "the number of sequences times model.seq_len"
    return Argument("budget", "tokens=N"), f", where N is {so_many}, the ids of a sequence"


def likely_budget(budget: str, amount: str) -> str:
    """A budget such as `time={}min` with this amount, or with 3 where it is none."""
    meant = budget.format(amount)
    return meant if _is_budget(meant) else budget.format(3)


def _is_budget(text: str) -> bool:
    """Whether `KIND=AMOUNT` is a budget."""
    kind, _, amount = text.partition("=")
    try:
        Budget.model_validate({kind: amount})
    except ValidationError:
        return False
    return True


MAX_PLAIN = 1e9
"""Largest amount that a note writes in full."""
MIN_ROUNDING = 0.1
"""The share of a budget by which whole steps exceed it, above which a note says so."""


def notes_on_rounding(budget: Budget, cost: float, steps: int) -> list[str]:
    """A note where whole steps, each of which has `cost` of what a budget counts, are much more than the budget."""
    if steps * cost <= (1 + MIN_ROUNDING) * budget.amount:
        return []

    def amount(number: float) -> str:
        return f"{number:,.0f}" if number == round(number) and number < MAX_PLAIN else f"{number:.4g}"

    whole = f"{amount(steps * cost)} {budget.kind}, in {steps} step{'s' * (steps > 1)}"
    return [f"the budget {budget.kind}={amount(budget.amount)} becomes {whole}: a step has {amount(cost)}"]
