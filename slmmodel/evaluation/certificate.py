"""The certificate of an evaluation: what was scored, with what, what it cost; and the comparison of two of them.

Plain data in docs/formats/certificate.md. It holds digests and sums instead of paths and dates, so that the same
weights on the same documents give the same certificate, and anybody can compute it again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from slmmodel.errors import CorruptCertificate, MissingInput
from slmmodel.evaluation.intervals import interval, units
from slmmodel.evaluation.scores import LN2, Scores

FORMAT, VERSION = "slm-certificate", 1
TOLERANCE = 1e-6
"""Relative difference of sums that rounding on another machine may cause."""
_EXACT = ("model", "tokenizer", "documents", "scoring")
_COUNTS = ("documents", "bytes", "targets", "content_targets")
_FLOATS = ("nats_content", "nats_special")


def certificate(
    scores: Scores,
    *,
    model: Mapping[str, object],
    tokenizer: Mapping[str, object],
    documents: Mapping[str, object],
    scoring: Mapping[str, object],
    versions: Mapping[str, object],
) -> dict[str, Any]:
    """The content of a certificate. `scores` must have passed `check_bytes`."""
    scores.check_bytes()
    return {
        "format": FORMAT,
        "version": VERSION,
        "bpb_total": scores.bpb_total,
        "bpb_content": scores.bpb_content,
        "interval": _interval(scores),
        "sums": {
            "documents": scores.n_docs,
            "bytes": scores.n_bytes,
            "targets": scores.n_targets,
            "content_targets": int((scores.nbytes > 0).sum()),
            "nats_content": scores.nats_content,
            "nats_special": scores.nats_special,
        },
        "conversions": {
            "nats_per_target": scores.nats_per_target,
            "perplexity_per_target": math.exp(min(scores.nats_per_target, 700)),
            "perplexity_per_byte": 2 ** min(scores.bpb_total, 1000),
            "bytes_per_target": scores.bytes_per_content_target,
        },
        "model": dict(model),
        "tokenizer": dict(tokenizer),
        "documents": dict(documents),
        "scoring": dict(scoring),
        "versions": dict(versions),
    }


def _interval(scores: Scores) -> dict[str, object] | None:
    found = interval(units(scores))
    return None if found is None else {**found._asdict(), "of": "bpb_total", "method": "bootstrap percentile"}


def read(path: str | Path) -> dict[str, Any]:
    """Reads a certificate. Raises `MissingInput`, `CorruptCertificate`."""
    try:
        content = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise MissingInput(
            f"cannot read {str(path)!r}: {error.strerror}", fix="slm eval RUN writes one into RUN/eval", path=str(path)
        ) from error
    except (ValueError, RecursionError) as error:
        raise _corrupt(path, f"is not JSON ({error})") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT or content.get("version") != VERSION:
        raise _corrupt(path, f"does not say {FORMAT}, version {VERSION}")
    sums = content.get("sums")
    if not isinstance(sums, dict) or not all(isinstance(sums.get(key), (int, float)) for key in _COUNTS + _FLOATS):
        raise _corrupt(path, "lacks one of its sums")
    if not all(isinstance(content.get(key), dict) for key in _EXACT):
        raise _corrupt(path, f"lacks one of {', '.join(_EXACT)}")
    return content


def _corrupt(path: str | Path, what: str) -> CorruptCertificate:
    return CorruptCertificate(f"{path} {what}", where=str(path), fix="make it again: slm eval RUN", path=str(path))


def contradictions(content: Mapping[str, Any]) -> list[str]:
    """Where a certificate contradicts itself: its bits per byte must follow from its sums."""
    sums = content["sums"]
    nats = {"bpb_content": sums["nats_content"], "bpb_total": sums["nats_content"] + sums["nats_special"]}
    found = []
    for name, value in nats.items():
        expected = value / (LN2 * sums["bytes"]) if sums["bytes"] else math.nan
        if not _close(content.get(name), expected):
            found.append(f"{name} is {content.get(name)}; its sums give {expected:.6f}")
    return found


def differences(stated: Mapping[str, Any], computed: Mapping[str, Any]) -> list[str]:
    """What a certificate states otherwise than one that was just computed; empty where it is proven."""
    found = contradictions(stated)
    for section in _EXACT:
        for key in sorted(set(stated[section]) | set(computed[section])):
            ours, theirs = computed[section].get(key), stated[section].get(key)
            if ours != theirs:
                found.append(f"{section}.{key} is {_short(theirs)}; computed {_short(ours)}")
    for key in _COUNTS:
        if stated["sums"][key] != computed["sums"][key]:
            found.append(f"sums.{key} is {stated['sums'][key]}; computed {computed['sums'][key]}")
    for key in _FLOATS:
        if not _close(stated["sums"][key], computed["sums"][key]):
            found.append(f"sums.{key} is {stated['sums'][key]}; computed {computed['sums'][key]}")
    return found


def _close(a: object, b: object) -> bool:
    if not isinstance(a, (int, float)) or not isinstance(b, (int, float)):
        return a is b
    return a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=TOLERANCE)


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 24 else f"{text[:16]}…"
