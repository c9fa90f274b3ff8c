"""What `slmtok diff` says: the five parts as plain values, and as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from slmtok.cli._classes import main_class
from slmtok.cli._columns import columns
from slmtok.cli._numbers import grouped
from slmtok.token_text import escape_token

if TYPE_CHECKING:
    from slmtok.cli.diff import Compared
    from slmtok.tokenizer import Tokenizer


def result(a: Tokenizer, b: Tokenizer, compared: Compared | None, *, top: int) -> dict[str, Any]:
    """All five parts; `segmentation` and `cost` are None without a text."""
    from slmtok.analysis import diff

    tokens, learned = diff.vocabularies(a, b), diff.order(a, b)
    found: dict[str, Any] = {
        "identity": {name: {"a": x, "b": y, "same": x == y} for name, (x, y) in diff.identity(a, b).items()},
        "vocabulary": {
            "shared": tokens.shared,
            "only_a": _tokens(tokens.only_a, top),
            "only_b": _tokens(tokens.only_b, top),
        },
        "order": {
            "first": None if learned.first is None else _first(learned.first),
            "median_move": learned.median_move,
            "largest_move": learned.largest_move,
            "farthest": _word(learned.farthest),
        },
        "segmentation": None,
        "cost": None,
    }
    if compared is not None and compared.paid is not None:
        total = compared.total
        found["segmentation"] = {
            **total.to_dict(),
            "share_of_pieces_alike": _share(total.pieces_alike, total.pieces),
            "share_of_a_in_b": _share(total.shared, total.boundaries_a),
            "share_of_b_in_a": _share(total.shared, total.boundaries_b),
        }
        costs, classes = compared.paid.costs(), compared.paid.classes()
        found["cost"] = {
            "bytes_per_token": _pair(_per(total.bytes, total.tokens_a), _per(total.bytes, total.tokens_b)),
            "by_class": {name: _pair(*pair) for name, pair in classes.items()},
            "by_domain": {
                name: _pair(_per(cuts.bytes, cuts.tokens_a), _per(cuts.bytes, cuts.tokens_b))
                for name, cuts in zip(compared.names, compared.cuts, strict=False)
            },
            "b_pays_more": [_cost(cost) for cost in costs[:top] if cost.extra > 0],
            "a_pays_more": [_cost(cost) for cost in costs[::-1][:top] if cost.extra < 0],
        }
    return found


def _tokens(tokens: Sequence[bytes], top: int) -> dict[str, Any]:
    return {
        "n": len(tokens),
        "by_class": dict(sorted(Counter(map(main_class, tokens)).items())),
        "first": [escape_token(token) for token in tokens[:top]],
    }


def _first(first: tuple[int, bytes | None, bytes | None]) -> dict[str, Any]:
    return {"place": first[0], "a": _word(first[1]), "b": _word(first[2])}


def _word(token: bytes | None) -> str | None:
    return None if token is None else escape_token(token)


def _cost(cost: Any) -> dict[str, Any]:
    return {
        "string": escape_token(cost.string),
        "count": cost.count,
        "a": cost.ids_a,
        "b": cost.ids_b,
        "extra": cost.extra,
    }


def _pair(a: float, b: float) -> dict[str, float]:
    return {"a": a, "b": b}


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def _per(size: int, tokens: int) -> float:
    return size / tokens if tokens else 0.0


def text(found: Mapping[str, Any]) -> str:
    """The five parts for people."""
    parts = [f"a {found['a']}\nb {found['b']}\n", _identity(found["identity"]), _vocabulary(found["vocabulary"])]
    parts.append(_order(found["order"]))
    if found["segmentation"] is not None:
        parts += [_segmentation(found["segmentation"]), _costs(found["cost"])]
    parts.append("the same ids\n" if found["same"] else "not the same ids\n")
    return "\n".join(parts)


def _identity(fields: Mapping[str, Any]) -> str:
    lines = []
    for name, value in fields.items():
        if value["same"]:
            lines.append(f"  {name:<12} the same")
        elif isinstance(value["a"], dict):
            keys = [key for key in {**value["a"], **value["b"]} if value["a"].get(key) != value["b"].get(key)]
            lines.append(f"  {name:<12} differ: {', '.join(keys)}")
        else:
            lines.append(f"  {name:<12} {_short(value['a'])}  |  {_short(value['b'])}")
    return "identity\n" + "\n".join(lines) + "\n"


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else text[:39] + "…"


def _vocabulary(found: Mapping[str, Any]) -> str:
    lines = [f"  {grouped(found['shared'])} tokens in both"]
    for side in ("a", "b"):
        only = found[f"only_{side}"]
        classes = ", ".join(f"{grouped(n)} {name}" for name, n in only["by_class"].items())
        lines.append(f"  {grouped(only['n'])} only in {side}" + (f": {classes}" if classes else ""))
        if only["first"]:
            lines.append("    " + " ".join(only["first"][:12]))
    return "vocabulary\n" + "\n".join(lines) + "\n"


def _order(found: Mapping[str, Any]) -> str:
    first = found["first"]
    if first is None:
        return "order\n  the same\n"
    told = [f"  first difference at token {first['place']}: {first['a'] or 'none'}  |  {first['b'] or 'none'}"]
    if found["farthest"] is not None:
        told.append(
            f"  shared tokens move by {grouped(found['median_move'])} places (median), "
            f"{found['farthest']} by {grouped(found['largest_move'])}"
        )
    return "order\n" + "\n".join(told) + "\n"


def _segmentation(found: Mapping[str, Any]) -> str:
    return (
        "segmentation\n"
        f"  {found['share_of_pieces_alike']:.2%} of {grouped(found['pieces'])} pieces are cut alike\n"
        f"  {found['share_of_a_in_b']:.2%} of a's boundaries are b's, {found['share_of_b_in_a']:.2%} of b's are a's\n"
    )


def _costs(found: Mapping[str, Any]) -> str:
    groups = {"all": found["bytes_per_token"], **found["by_class"], **found["by_domain"]}
    rows = [[name, f"{pair['a']:.3f}", f"{pair['b']:.3f}"] for name, pair in groups.items()]
    lines = ["cost, in bytes per token", columns(["", "a", "b"], rows).rstrip()]
    for side in ("b", "a"):
        strings = found[f"{side}_pays_more"]
        if strings:
            table = [
                [one["string"], grouped(one["count"]), str(one["a"]), str(one["b"]), grouped(abs(one["extra"]))]
                for one in strings
            ]
            lines += [f"{side} needs more ids for", columns(["", "count", "a", "b", "more"], table).rstrip()]
    return "\n".join(lines) + "\n"
