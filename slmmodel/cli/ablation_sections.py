"""What a report says of an ablation, from its `ablation.json` (docs/formats/ablation.md)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from slmmodel.cli.ablation_files import LOCK, RESULT, load_ablation, load_lock
from slmmodel.cli.curves import LABELS
from slmmodel.cli.result_sections import breakdown_tables
from slmtok import schema
from slmtok.envelope import baseline_limits
from slmtok.json_files import corrupt
from slmtok.pages.charts import Interval, Line, forest_plot, line_chart
from slmtok.pages.sections import Block, Figure, Paragraph, Quote, Section, Table
from slmtok.sizes import counted, format_bytes
from slmtok.strict_json import FaultError

_NUMBERS = schema.array(schema.number)
_INTERVAL = schema.nullable(schema.array(schema.number, length=2))
_PAIR = schema.table(
    {"arm": schema.text, "baseline": schema.text, "delta": schema.nullable(schema.number), "verdict": schema.text},
    {"interval": _INTERVAL},
    is_open=True,
)
_FORMATS = {
    **dict.fromkeys(("parameters", "body_parameters", "d_model", "seq_len", "batch_size", "steps"), ",d"),
    **dict.fromkeys(("tokens", "bytes", "context_bytes"), ",.0f"),
    **dict.fromkeys(("lr", "flops"), ".3g"),
    "embedding_share": ".1%",
}
"""Columns of the table of arms, and how each is written."""
_ARM = schema.table(
    {
        "name": schema.text,
        "bpb": schema.nullable(schema.number),
        "interval": _INTERVAL,
        **{name: schema.integer() if how == ",d" else schema.number for name, how in _FORMATS.items()},
        "bpb_by_seed": schema.array(schema.nullable(schema.number)),
        "runs": schema.array(schema.text),
    },
    is_open=True,
)
_CURVE = schema.table(
    {"arm": schema.text, "seed": schema.integer(), **dict.fromkeys(("bytes", "tokens", "flops", "bpb"), _NUMBERS)},
    is_open=True,
)
_VIEW = schema.table(
    {
        **dict.fromkeys(("match", "equal", "differs"), schema.text),
        "scored_context_bytes": schema.integer(),
        "arms": schema.array(_ARM),
        "realised": schema.mapping(schema.number),
        "pairs": schema.array(_PAIR),
        "curves": schema.array(_CURVE),
        "breakdowns": schema.mapping(schema.mapping(schema.array(schema.mapping(schema.plain)))),
    },
    is_open=True,
)
_SIZES = schema.table({"documents": schema.integer(), "bytes": schema.integer()}, is_open=True)
_TOKENIZER = schema.table(
    {"name": schema.text, "fingerprint": schema.text, "n_vocab": schema.integer(), "bytes_per_token": schema.number},
    is_open=True,
)
_KEYS = {
    "views": schema.array(_VIEW),
    "documents": schema.mapping(_SIZES),
    "arms": schema.array(_TOKENIZER),
    "lock": schema.table({}, {"request": schema.mapping(schema.plain)}, is_open=True),
}
_QUANTITIES = ("bytes", "tokens", "flops")


def is_ablation(path: str) -> bool:
    """Whether a path is the result of an ablation, or its folder."""
    return Path(path).name == RESULT or (Path(path) / RESULT).is_file() or (Path(path) / LOCK).is_file()


def ablation_sections(path: str, number: int) -> list[Section]:
    """The sections of one ablation, whose ids hold its number on the page. Raises `CorruptFile`, `MissingInput`."""
    file = str(Path(path) / RESULT) if Path(path).is_dir() else path
    if not Path(file).exists() and (Path(path) / LOCK).is_file():
        lock = load_lock(str(Path(path) / LOCK))
        waits = Paragraph(f"{path} has not finished: it has no result yet; slm ablate continues it.", role="warning")
        return [Section(f"lock-{number}", f"Lock of {path}", [waits, *_lock({"lock": lock})])]
    found = load_ablation(file)
    try:
        for key, check in _KEYS.items():
            check(found[key], key)
        for curve in (curve for view in found["views"] for curve in view["curves"]):
            if len({len(curve[name]) for name in ("bpb", *_QUANTITIES)}) > 1:
                raise FaultError(f"a curve of {curve['arm']} has lists of different lengths")
    except FaultError as fault:
        raise corrupt(file, "ablation", fault, "restore the file, or run slm ablate again") from None
    parts = {
        "verdict": ("Verdict", _verdicts(found)),
        "arms": ("Arms", _arms(found)),
        "arm-curves": ("Training of the arms", _curves(found)),
        "lock": ("Lock", _lock(found)),
    }
    return [Section(f"{id}-{number}", f"{title} of {path}", list(blocks)) for id, (title, blocks) in parts.items()]


def inequality(view: Mapping[str, Any], spread: float) -> str | None:
    """What is said of arms whose matched quantity differs by `spread`; None within the limit."""
    from slmmodel.ablation.matches import MAX_SPREAD

    if spread <= MAX_SPREAD:
        return None
    fact = f"The arms differ by {spread:.2%} in {view['quantity']}, more than {MAX_SPREAD:.0%}"
    return f"{fact}: a longer budget makes them more equal."


def guessing(arm: Mapping[str, Any]) -> str:
    """What is said of an arm with runs that learned nothing."""
    runs = f"{arm['no_better_than_guessing']} of {counted(len(arm['runs']), 'run')} of {arm['name']}"
    return f"{runs} score no better than a uniform guess: they diverged, or learned nothing."


def _verdicts(found: Mapping[str, Any]) -> Iterator[Block]:
    for change in found["exploratory"]:
        yield Paragraph(f"Exploratory: the plan was changed after the first run: {change}.", role="warning")
    for view in found["views"]:
        for pair in view["pairs"]:
            yield Paragraph(f"Matched in {view['match']}: {pair['verdict']}", role="verdict")
    margin = f"a margin of {100 * found['margin']:g} %, and {1 - found['alpha']:.0%} confidence over all arms together"
    yield Paragraph(f"This holds for {found['scope']}, with {counted(len(found['seeds']), 'seed')}, {margin}.")
    for view in found["views"]:
        intervals = list(_relative(view))
        if intervals:
            svg = forest_plot(intervals, x="difference in % of the baseline's bpb", margin=100 * found["margin"])
            words = (
                "each with the interval of its verdict; left of the line the arm needs fewer bits; dotted: the margin"
            )
            yield Figure(
                f"Matched in {view['match']}: difference to {found['baseline']}, {words}",
                svg,
            )
    yield _pairs(found)


def _relative(view: Mapping[str, Any]) -> Iterator[Interval]:
    """The intervals of a view in per cent of the bits per byte of the baseline; none where a number is missing."""
    bpb = {arm["name"]: arm["bpb"] for arm in view["arms"]}
    for pair in view["pairs"]:
        base, interval = bpb.get(pair["baseline"]), pair.get("interval")
        if base and interval is not None and pair["delta"] is not None:
            low, middle, high = (100 * value / base for value in (interval[0], pair["delta"], interval[1]))
            yield Interval(f"{pair['arm']} - {pair['baseline']}", low, middle, high)


_DRAWN = ("arm", "baseline", "delta", "interval", "relative", "relative_interval", "verdict")


def _pairs(found: Mapping[str, Any]) -> Table:
    """Every pair under every match, with all that is said of it."""
    listed = [(view["match"], pair) for view in found["views"] for pair in view["pairs"]]
    more = dict.fromkeys(
        key
        for _, pair in listed
        for key, value in pair.items()
        if key not in _DRAWN and type(value) in (int, float, str)
    )
    rows = [
        [
            f"{pair['arm']} - {pair['baseline']}",
            match,
            _number(pair["delta"], "+.4f"),
            _between(pair.get("interval"), "+.4f"),
            *(_number(pair.get(key), ".4g") for key in more),
        ]
        for match, pair in listed
    ]
    head = ["", "matched in", "difference in bits per byte", "interval", *(key.replace("_", " ") for key in more)]
    return Table("Pairs under all matches", head, rows)


def _arms(found: Mapping[str, Any]) -> Iterator[Block]:
    rows = [
        [each["name"], f"{each['n_vocab']:,}", f"{each['bytes_per_token']:.3f}", str(each["fingerprint"])[:16]]
        for each in found["arms"]
    ]
    yield Table("Tokenizers", ["", "ids", "bytes per token", "fingerprint"], rows)
    for split, sizes in found["documents"].items():
        amount = f"{counted(sizes['documents'], 'document')}, {format_bytes(sizes['bytes'])}"
        yield Paragraph(f"{split}: {amount}, the same for all arms.")
    if found["baselines"] is not None:
        yield from _baselines(found["baselines"], found["documents"].get("val", {}).get("bytes", 0))
    for view in found["views"]:
        head = ["", *(each["name"] for each in view["arms"])]
        yield Table(
            f"Matched in {view['match']}: equal are {view['equal']}; {view['differs']} differ", head, _of_arms(view)
        )
        apart = ", ".join(f"{name} {share:.2%}" for name, share in view["realised"].items())
        yield Paragraph(f"Largest arm over smallest, less 1: {apart}.")
        if (unequal := inequality(view, view["realised"].get(view["quantity"], 0.0))) is not None:
            yield Paragraph(unequal, role="warning")
        for arm in view["arms"]:
            if arm.get("no_better_than_guessing"):
                yield Paragraph(guessing(arm), role="warning")
        for name, tables in view["breakdowns"].items():
            yield from breakdown_tables(f"{view['match']}, {name}", tables)


def _baselines(found: Mapping[str, Any], scored_bytes: int) -> Iterator[Block]:
    rows = [[f"{order}-gram of bytes", f"{bits:.4f}"] for order, bits in found["ngram"].items()]
    rows += [[f"{name} after the training text", f"{found[name]['after_train']:.4f}"] for name in ("bz2", "xz")]
    yield Table("Without a model, on the same validation documents", ["", "bits per byte"], rows)
    if limits := baseline_limits(found, scored_bytes):
        yield Paragraph(f"They are {limits}.")


def _of_arms(view: Mapping[str, Any]) -> list[list[str]]:
    arms = view["arms"]
    rows = [
        ["bits per byte", *(_number(each["bpb"], ".4f") for each in arms)],
        ["interval", *(_between(each["interval"], ".4f") for each in arms)],
        ["by seed", *(" ".join(_number(bits, ".4f") for bits in each["bpb_by_seed"]) for each in arms)],
    ]
    rows += [[key.replace("_", " "), *(format(each[key], how) for each in arms)] for key, how in _FORMATS.items()]
    rows.append(["runs", *(" ".join(each["runs"]) for each in arms)])
    return [row for row in rows if any(row[1:])]


def _curves(found: Mapping[str, Any]) -> Iterator[Block]:
    for view in found["views"]:
        names = [each["name"] for each in view["arms"]]
        for quantity in _QUANTITIES:
            label = LABELS[quantity]
            lines = [
                Line(arm := curve["arm"], curve[quantity], curve["bpb"], names.index(arm) if arm in names else 0)
                for curve in view["curves"]
            ]
            if lines:
                svg = line_chart(lines, x=label, y="bits per byte of training")
                yield Figure(
                    f"Matched in {view['match']}: training against {label}; seeds of an arm in one colour", svg
                )


def _lock(found: Mapping[str, Any]) -> Iterator[Block]:
    request = found["lock"].get("request", {})
    rows = [[str(key), _text(value)] for key, value in request.items() if key != "config"]
    yield Table("What was fixed before the first run", ["", "value"], rows)
    yield Quote(
        "The whole lock", json.dumps(found["lock"], ensure_ascii=False, indent=1, sort_keys=True), is_folded=True
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _number(value: Any, how: str) -> str:
    if value is None:
        return "not finite" if how.endswith("f") else ""
    return format(value, how) if type(value) in (int, float) else _text(value)


def _between(interval: Sequence[float] | None, how: str) -> str:
    return "" if interval is None else f"{interval[0]:{how}} to {interval[1]:{how}}"
