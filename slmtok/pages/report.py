"""The page of `slmtok report`: what tokenizers hold, how they cut text, and what was measured of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from slmtok.envelope import baseline_limits
from slmtok.pages.charts import Line, line_chart
from slmtok.pages.frame import Page, asset
from slmtok.pages.page_data import about, vocabulary_data
from slmtok.pages.sections import Block, Figure, Markup, Paragraph, Section, Table, report_page
from slmtok.sizes import counted, format_bytes

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer

TITLE = "Tokenizer report"
MAX_CELL_CHARS = 200
SCRIPTS = ("tokenizer.js", "tokens.js", "report.js")


@dataclass(frozen=True)
class Subject:
    """One tokenizer of a report.

    classes: the class of each id, None for a hole. counts: how often each id occurs, by the name of a text or domain.
    samples: ids of each sample. curve: (n_vocab, bytes per token, share of the embedding by body); without a text the
    second is None.
    """

    name: str
    tokenizer: Tokenizer
    classes: Sequence[str | None]
    counts: Mapping[str, Sequence[int]] = field(default_factory=dict)
    samples: Sequence[Sequence[int]] = ()
    curve: Sequence[tuple[int, float | None, Sequence[float]]] = ()


@dataclass(frozen=True)
class Findings:
    """What was measured: results of `slmtok eval` and `slmtok diff`, certificates of `slmtok audit`, each by name."""

    evals: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    diffs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    audits: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def report(
    subjects: Sequence[Subject], findings: Findings, *, samples: Sequence[str], bodies: Sequence[str], footer: str
) -> Page:
    """The page. samples: their names; bodies: names of the models whose embedding shares the curves have.

    Raises `OptionError` for a page beyond 5 MB, `MissingExtra` without jinja2 or matplotlib.
    """
    sections = [
        Section("tokenizers", "Tokenizers", [_facts(subjects)]),
        Section("compression", "Compression", list(_compression(findings.evals))),
        Section("sizes", "Size of the vocabulary", list(_sizes(subjects, bodies))),
        Section("vocabulary", "Vocabulary", [Markup(asset("vocabulary.html"))]),
        Section("merges", "Merges of a token", [Markup(asset("merges.html"))]),
        Section("samples", "Samples", [Markup('<div id="sample-texts"></div>')] if samples else []),
        Section("certificates", "Certificates", list(_certificates(findings.audits))),
        Section("differences", "Differences", list(_differences(findings.diffs))),
    ]
    data = {"samples": samples, "tokenizers": [_subject_data(each) for each in subjects]}
    fix = "name fewer tokenizers or domains"
    return report_page(TITLE, sections, footer=footer, fix=fix, option="tokenizer", scripts=SCRIPTS, data=data)


def _subject_data(subject: Subject) -> dict[str, Any]:
    """What report.js takes. Classes are numbers in a list of names, -1 for a hole."""
    names = sorted({each for each in subject.classes if each is not None})
    numbers = {name: number for number, name in enumerate(names)} | {None: -1}
    specials = subject.tokenizer.specials.tokens
    return {
        "name": subject.name,
        "about": about(subject.tokenizer),
        "class_names": names,
        "classes": [numbers[each] for each in subject.classes],
        "specials": {str(each.id): [each.role or "reserved", each.text or ""] for each in specials},
        "counts": {name: list(values) for name, values in subject.counts.items()},
        "samples": subject.samples,
        **vocabulary_data(subject.tokenizer),
    }


def _facts(subjects: Sequence[Subject]) -> Table:
    def row(label: str, *values: object) -> list[str]:
        return [label, *("" if value is None else str(value) for value in values)]

    all_of = [each.tokenizer for each in subjects]
    origins = [each.provenance for each in all_of]
    rows = [
        row("scheme", *(each.scheme for each in all_of)),
        row("ids", *(f"{each.n_vocab:,}" for each in all_of)),
        row("padded", *(f"{each.padded_vocab:,}" for each in all_of)),
        row("pattern", *(each.pattern.name or each.pattern.regex for each in all_of)),
        row(
            "special tokens", *(" ".join(each.specials.text(role) or role for role in each.specials) for each in all_of)
        ),
        row("longest token, bytes", *(f"{int(each.byte_lengths().max()):,}" for each in all_of)),
        row("corpus", *(_corpus(origin) for origin in origins)),
        row("fingerprint", *(each.fingerprint[:16] for each in all_of)),
        row("sha256", *(each.sha256[:16] for each in all_of)),
    ]
    named = [one for one in rows if any(one[1:])]
    return Table("Tokenizers of this page", ["", *(each.name for each in subjects)], named)


def _corpus(origin: Mapping[str, Any]) -> str:
    documents, n_bytes = origin.get("documents"), origin.get("bytes")
    if not isinstance(documents, int) or not isinstance(n_bytes, int):
        return ""
    return f"{counted(documents, 'document')}, {format_bytes(n_bytes)}"


_METRICS = (
    ("ids", "n_vocab", ",d"),
    ("tokens", "tokens", ",d"),
    ("bytes per token", "bytes_per_token", ".3f"),
    ("tokens per word", "tokens_per_word", ".3f"),
    ("words that are one token", "single_token_share", ".1%"),
    ("unused ids", "unused_ids", ",d"),
    ("ids of variants of a word", "variant_ids", ",d"),
    ("Rényi efficiency", "renyi_efficiency", ".3f"),
)


def _compression(evals: Mapping[str, Mapping[str, Any]]) -> Iterator[Block]:
    for name, found in evals.items():
        text, tokenizers = found["text"], found["tokenizers"]
        head = ["", *(each["name"] for each in tokenizers)]
        size = f"{counted(text['documents'], 'document')}, {format_bytes(text['bytes'])}, {text['words']:,} words"
        rows = [[label, *(format(each[key], form) for each in tokenizers)] for label, key, form in _METRICS]
        yield Table(f"{name}: {size}", head, rows)
        for title, key in (("domain", "bytes_per_token_by_domain"), ("class of string", "bytes_per_token_by_class")):
            # A domain without a document has 0 everywhere.
            groups = dict.fromkeys(group for each in tokenizers for group, found in each[key].items() if found)
            rows = [[group, *(_number(each[key].get(group)) for each in tokenizers)] for group in groups]
            if rows:
                yield Table(f"{name}: bytes per token by {title}", head, rows)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _sizes(subjects: Sequence[Subject], bodies: Sequence[str]) -> Iterator[Block]:
    points = [[(size, found) for size, found, _ in each.curve if found] for each in subjects]
    curves = [
        Line(each.name, [size for size, _ in measured], [found for _, found in measured], number, marked=True)
        for number, (each, measured) in enumerate(zip(subjects, points, strict=True))
        if measured
    ]
    if curves:
        ticks = _powers_of_two([size for line in curves for size in line.x])
        svg = line_chart(curves, x="ids of the vocabulary", y="bytes per token", log_x=True, ticks=ticks)
        yield Figure("Bytes per token of each tokenizer cut to smaller sizes, on the text of this page", svg)
    for each in subjects:
        rows = [
            [f"{size:,}", _number(found), *(f"{share:.1%}" for share in shares)] for size, found, shares in each.curve
        ]
        yield Table(
            f"{each.name}: bytes per token, and the share of the embedding in all parameters",
            ["ids", "bytes per token", *bodies],
            rows,
            is_folded=len(subjects) > 1,
        )
    yield Paragraph(
        "The share is that of a tied embedding in a transformer with 12 d_model² parameters a layer; "
        "sizes are rounded up to a multiple of 64."
    )


def _powers_of_two(sizes: Sequence[float]) -> list[int]:
    """At most six, from the least size to the greatest."""
    powers = [1 << power for power in range(32) if min(sizes) <= 1 << power <= max(sizes)]
    return powers[:: -(-len(powers) // 6) or 1]


def _certificates(audits: Mapping[str, Mapping[str, Any]]) -> Iterator[Block]:
    for name, found in audits.items():
        text, leak, baselines = found["text"], found["leak"], found["baselines"]
        verdict = "nothing is lost" if found["verdict"] else "NOT PROVEN"
        rows = [
            ["verdict", verdict],
            ["text", f"{counted(text['documents'], 'document')}, {text['bytes']:,} bytes"],
            ["tokens", f"{found['ids']:,}, of {found['token_bytes']:,} bytes"],
            ["fingerprint", found["tokenizer"]["fingerprint"][:16]],
        ]
        rows += [
            [check.replace("_", " "), "ok" if result["ok"] else str(result["fault"])]
            for check, result in found["checks"].items()
        ]
        if leak is not None:
            rows.append(["leak", f"{leak['documents']:,} of {leak['of']:,} documents were counted"])
        if baselines is not None:
            rows += [
                [f"{order}-gram of bytes", f"{bits:.3f} bits per byte"] for order, bits in baselines["ngram"].items()
            ]
            rows += [[each, f"{baselines[each]['after_train']:.3f} bits per byte"] for each in ("bz2", "xz")]
            if limits := baseline_limits(baselines, text["bytes"]):
                rows.append(["baselines", limits])
        yield Table(f"{name}: {verdict}", ["check", "result"], rows)


def _differences(diffs: Mapping[str, Mapping[str, Any]]) -> Iterator[Block]:
    for name, found in diffs.items():
        vocabulary, order, cost = found["vocabulary"], found["order"], found["cost"]
        same = "the same ids" if found["same"] else "not the same ids"
        yield Paragraph(f"{name}: a is {found['a']}, b is {found['b']}: {same}.")
        rows = [[key, *_unlike(one["a"], one["b"])] for key, one in found["identity"].items() if not one["same"]]
        rows.append(["tokens of it alone", *(f"{vocabulary[f'only_{side}']['n']:,}" for side in "ab")])
        rows.append(["the first of them", *(" ".join(vocabulary[f"only_{side}"]["first"][:20]) for side in "ab")])
        if order["first"] is not None:
            first = order["first"]
            rows.append([f"token {first['place']}, the first that differs", first["a"] or "none", first["b"] or "none"])
        yield Table(f"{name}: vocabularies, with {vocabulary['shared']:,} tokens of both", ["", "a", "b"], rows)
        if cost is None:
            continue
        groups = {"all": cost["bytes_per_token"], **cost["by_class"], **cost["by_domain"]}
        pairs = [[group, f"{pair['a']:.3f}", f"{pair['b']:.3f}"] for group, pair in groups.items()]
        yield Table(f"{name}: bytes per token", ["", "a", "b"], pairs)
        for side in "ba":
            strings = [
                [one["string"], f"{one['count']:,}", str(one["a"]), str(one["b"]), f"{abs(one['extra']):,}"]
                for one in cost[f"{side}_pays_more"]
            ]
            if strings:
                head = ["string", "count", "ids of a", "ids of b", "more in all"]
                yield Table(f"{name}: {side} needs more ids", head, strings, is_folded=True)


def _unlike(a: Any, b: Any) -> list[str]:
    """Two values as text; of two objects what differs."""
    if isinstance(a, dict) and isinstance(b, dict):
        keys = [key for key in {**a, **b} if a.get(key) != b.get(key)]
        a, b = ({key: each[key] for key in keys if key in each} for each in (a, b))
    texts = [each if isinstance(each, str) else json.dumps(each, ensure_ascii=False) for each in (a, b)]
    return [text if len(text) <= MAX_CELL_CHARS else text[:MAX_CELL_CHARS] + "…" for text in texts]
