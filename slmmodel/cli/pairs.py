"""`slm pairs`: how often a model finds the good sentence of a minimal pair likelier than the bad one."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, NamedTuple

from slmmodel.cli.open_by_path import bounded_lines, open_run, stdin_lines
from slmmodel.cli.options import BOUNDED, opening_options, run_argument, run_as_argument
from slmmodel.cli.run_argument import without
from slmmodel.cli.text import STDIN
from slmmodel.errors import CorruptFile, InvalidInput, MissingInput, OptionError, SlmmodelError
from slmtok.cli.errors import EXTRA
from slmtok.cli.options import argument, arguments_of_command, command, option
from slmtok.cli.output import Outcome, table, write_text
from slmtok.cli.progress import Progress
from slmtok.errors import SlmtokError
from slmtok.file_kinds import is_run
from slmtok.files import free_name, opened


class Pair(NamedTuple):
    """One line of the file."""

    good: str
    bad: str
    group: str


def _two_sentences(value: str | None, arguments: Sequence[str]) -> str:
    """For a pair of sentences in the place of its file: the command that reads them from stdin, the good one first."""
    run = next(filter(is_run, arguments), "RUN")
    texts = [word for word in arguments if " " in word and not word.startswith("-") and not os.path.exists(word)]  # noqa: PTH110
    if value not in texts or len(texts) != 2:
        return ""
    line = json.dumps({"sentence_good": texts[0], "sentence_bad": texts[1]}, ensure_ascii=False)
    rest = [word for word in arguments if word not in (run, *texts)]
    return f"printf '%s\\n' {shlex.quote(line)} | {shlex.join(['slm', 'pairs', run, '-', *rest])}"


@command("pairs", example="slm pairs run blimp.jsonl --by linguistics_term",
         habits={**run_as_argument("pairs"), EXTRA: _two_sentences})  # fmt: skip
@run_argument
@argument("file", metavar="FILE", help="JSON lines with two sentences each, as in BLiMP; - is stdin.")
@option("--good", metavar="KEY", default="sentence_good", help="Field of the sentence that should be likelier.")
@option("--bad", metavar="KEY", default="sentence_bad", help="Field of the other one.")
@option("--by", metavar="KEY", help="Also report by the values of this field.")
@option("--batch-size", metavar="N", type=BOUNDED, default=64, help="Sentences that are read at once.")
@opening_options
def pairs(run: str, file: str, good: str, bad: str, by: str | None, batch_size: int, **opening: Any) -> Outcome:
    """Compare the sentences of minimal pairs by the probability of the whole document; a tie counts half.

    Shares have 95 % intervals. A model that does not know the difference is right in 50 %.
    """
    if good == bad:
        raise OptionError(f"--good and --bad are both {good!r}", fix="name two fields", option="good")
    if Path(file).is_dir() and Path(run).is_file():
        swapped = f"slm pairs {shlex.quote(file)} {shlex.quote(run)}"
        raise OptionError(f"{run!r} is named as the run, and {file!r} as the file", fix=swapped, option="run")
    if Path(file).is_dir():
        raise _no_file(run, file, good, bad)
    listed = read_pairs(file, good, bad, by)
    context = open_run(run, **opening)
    from slmmodel.decoding_options import opening_ids
    from slmmodel.evaluation.retrieval import sequence_nats
    from slmmodel.run import special_ids

    text = context.need_text("slm pairs")
    before, after = opening_ids(context.vocab), list(special_ids(context.vocab)["stop_ids"])
    documents = [before + text.encode(sentence) + after for pair in listed for sentence in (pair.good, pair.bad)]
    _check_lengths(file, documents, context.model.config)
    # Sentences of one length stand together, so that little is padding.
    order = sorted(range(len(documents)), key=lambda index: len(documents[index]))
    nats = [0.0] * len(documents)
    with Progress("scoring") as progress:
        for first in range(0, len(order), batch_size):
            rows = order[first : first + batch_size]
            for row, value in zip(rows, sequence_nats(context.model, [documents[row] for row in rows]), strict=True):
                nats[row] = value
            progress("scoring", first + len(rows), len(order))
    points = [_points(*pair) for pair in zip(nats[::2], nats[1::2], strict=True)]
    groups = {"all": list(range(len(listed)))}
    if by is not None:
        for index, pair in enumerate(listed):
            groups.setdefault(pair.group, []).append(index)
    result = {name: _share([points[index] for index in indices]) for name, indices in groups.items()}
    rows_shown = [
        [
            name,
            f"{line['pairs']:,}",
            f"{line['share']:.1%}",
            f"{line['low']:.1%} to {line['high']:.1%}",
            f"{line['ties']}",
        ]
        for name, line in result.items()
    ]
    head = [by or "", "pairs", "right", "95 % interval", "ties"]
    return Outcome({"path": run, "file": file, "groups": result}, lambda: write_text(table(head, rows_shown)))


def _no_file(run: str, folder: str, good: str, bad: str) -> OptionError:
    """The error for a folder in the place of the file; the fix takes the files of pairs in it, or both runs."""
    rest = [word for word in arguments_of_command() if word not in (run, folder)]
    fact, lines = f"{folder!r} is a folder, not a file of pairs", sorted(Path(folder).glob("*.jsonl"))
    limit, fields = "JSON lines; one file, or - for stdin", ""
    if lines and (fields := _fields_of(str(lines[0]), good, bad)):
        limit += f"; the pairs have no {good!r} and {bad!r}"
        rest, fields = without(("--good", "--bad"), rest), f" {fields}"
    if is_run(folder):
        both = " && ".join(shlex.join(["slm", "pairs", each, "FILE", *rest]) for each in (run, folder))
        fact, fix = f"{folder!r} is a run, not a file of pairs", f"name the FILE of pairs: {both}"
    elif len(lines) > 1:
        files = f"{shlex.quote(str(Path(folder)))}/*.jsonl"
        fix = f"cat {files} | {shlex.join(['slm', 'pairs', run, '-', *rest])}{fields}"
    elif lines:
        fix = f"{shlex.join(['slm', 'pairs', run, str(lines[0]), *rest])}{fields}"
    else:
        fix = "name a file with an object a line: the folder has no .jsonl"
    return OptionError(fact, limit=limit, fix=fix, option="file")


def _fields_of(file: str, good: str, bad: str) -> str:
    """The options for the fields of the first pair of a file, where it lacks the fields that are named."""
    with suppress(OSError, SlmmodelError, SlmtokError, ValueError, RecursionError), opened(file) as stream:
        record = json.loads(next(bounded_lines(stream, file), b""))
        if isinstance(record, dict) and not {good, bad} <= record.keys():
            fields = _fields_meant(record, None)
            return fields if fields.startswith("--good") else ""
    return ""


def read_pairs(file: str, good: str, bad: str, by: str | None) -> list[Pair]:
    """The pairs of a JSON Lines file. Raises `CorruptFile` with the line, `MissingInput` for a file without any."""
    found = []
    with nullcontext() if file == STDIN else opened(file) as stream:
        for number, line in enumerate(stdin_lines() if stream is None else bounded_lines(stream, file), 1):
            if line.strip():
                found.append(_pair(line, good, bad, by, f"{file}, line {number}"))
    if not found:
        raise MissingInput(f"{file} has no pairs", where=file, fix="write a line of JSON for each pair", path=file)
    return found


def _pair(line: bytes, good: str, bad: str, by: str | None, where: str) -> Pair:
    from slmtok.corpus.json_values import loads

    try:
        record = loads(line)
    except (ValueError, RecursionError) as error:
        if line.lstrip().startswith(b"["):
            raise _array(where) from None
        if where.endswith(", line 1") and (table := _table(line, good, bad, where.removesuffix(", line 1"))):
            raise table from None
        fix = f'write one object a line, such as {{"{good}": "He runs.", "{bad}": "He run."}}'
        raise CorruptFile(f"a line is not JSON: {error}", where=where, fix=fix) from None
    if isinstance(record, list):
        raise _array(where)
    record = record if isinstance(record, dict) else {}
    names = [good, bad] if by is None else [good, bad, by]
    missing = [name for name in names if not isinstance(record.get(name), str)]
    if missing and missing[0] in record:
        fact = f"the field {missing[0]!r} of a pair is {type(record[missing[0]]).__name__}, not text"
        raise CorruptFile(fact, where=where, fix="write the sentence in quotes, or leave the line out")
    if missing:
        raise CorruptFile(
            f"a pair has no text {missing[0]!r}",
            where=where,
            limit=f"fields: {', '.join(record) or 'none'}",
            fix=_fields_meant(record, None if {good, bad} & {*missing} else by)
            + f"; and for --by {by} one of these fields" * (len(missing) > 1 and by in missing)
            + "; besides, the two texts are equal: leave the line out" * _has_equal_texts(record),
        )
    for name in names:
        if found := re.search("[\ud800-\udfff]", record[name]):
            raise CorruptFile(
                f"the field {name!r} of a pair has a lone surrogate U+{ord(found[0]):04X}, which has no UTF-8",
                where=where,
                limit="an escape such as \\ud83d stands before its second half, \\ude00",
                fix="write the whole character, or leave the line out",
            )
    if record[good] == record[bad]:
        raise CorruptFile(
            f"the two sentences of a pair are equal: {record[good][:60]!r}",
            where=where,
            limit="a pair differs, so that one sentence can be likelier",
            fix="leave the line out",
        )
    return Pair(record[good], record[bad], record[by] if by else "")


def _has_equal_texts(record: Mapping[str, Any]) -> bool:
    """Whether a record has two texts, which are equal, so that it is no pair."""
    texts = [value for value in record.values() if isinstance(value, str)]
    return len(texts) == 2 and texts[0] == texts[1]


_OPPOSITES = (
    *(("good", "bad"), ("chosen", "rejected"), ("preferred", "dispreferred"), ("correct", "incorrect")),
    *(("grammatical", "ungrammatical"), ("acceptable", "unacceptable"), ("positive", "negative"), ("right", "wrong")),
)
"""Words in the names of the two fields of other data sets."""


def _fields_meant(record: Mapping[str, Any], by: str | None) -> str:
    """The options for the fields of a record with other names; `by`: the field of `--by`, which alone is missing."""
    texts = [field for field, value in record.items() if isinstance(value, str)]
    if by is not None:
        return f"--by with one of these fields, or leave --by {shlex.quote(by)} out"
    for good, bad in _OPPOSITES:
        bads = [field for field in texts if bad in field]
        goods = [field for field in texts if good in field and field not in bads]
        if len(goods) == len(bads) == 1:
            return shlex.join(["--good", *goods, "--bad", *bads])
    if len(texts) == 2:
        return f"{shlex.join(['--good', texts[0], '--bad', texts[1]])}  # if {texts[0]} should be the likelier one"
    if len(texts) < 2:
        return "write two sentences in each line, or name another FILE"
    return "--good FIELD --bad OTHER  # FIELD has the sentence that should be likelier"


def _array(where: str) -> CorruptFile:
    """The error for a line that begins an array of JSON."""
    file = where.rpartition(", line ")[0]
    fix = _converted(file, "json.load(sys.stdin)")
    return CorruptFile("a line begins an array of JSON", where=where, limit="JSON lines: one object a line", fix=fix)


def _converted(file: str, records: str) -> str:
    """The command that writes the records of a file, an expression of Python on stdin, one a line."""
    if file == STDIN:
        return "name a file with an object a line"
    module = records.partition(".")[0]
    imports = ", ".join(sorted({module, "json", "sys"}))
    # Tables that Excel writes have a byte order mark.
    code = f'import {imports}; sys.stdin.reconfigure(encoding="utf-8-sig"); '
    code += f"[print(json.dumps(each)) for each in {records}]"
    return f"python -c {shlex.quote(code)} < {shlex.quote(file)} > {shlex.quote(_converted_file(file))}"


def _converted_file(file: str) -> str:
    """The name of the file with an object a line, which nothing has."""
    return free_name(str(Path(file).with_suffix(".jsonl")))


_MAX_ROW_BYTES = 1 << 16
"""Of the first line of a table that are looked at."""
_SENTENCE = re.compile(r".*\s.*[.!?\u2026]|(\S+\s+){3,}\S+")
"""A cell that is no name of a column: several words, the last with a full stop, or four words or more."""


def _table(line: bytes, good: str, bad: str, file: str) -> CorruptFile | None:
    """The error for a file that begins with the header or a row of a table (CSV or TSV); None for other lines."""
    delimiter = "\t" if b"\t" in line else ","
    row = line[:_MAX_ROW_BYTES].decode("utf-8-sig", "replace").rstrip("\r\n").replace("\0", "")
    names = [name.strip() for name in next(csv.reader([row], delimiter=delimiter), [])]
    suffix = Path(file).suffix.lower()
    sentences = [name for name in names if _SENTENCE.fullmatch(name)]
    if len({*sentences}) == len(sentences) == 2 and (suffix in (".csv", ".tsv") or delimiter == "\t"):
        roles = dict(zip(sentences, (good, bad), strict=True))
        fields = [roles.get(name, f"column_{at}") for at, name in enumerate(names, 1)]
        of_tabs = ", delimiter=chr(9)" * (delimiter != ",")
        fact = f"the first line is not JSON, but a row of a table without a header: {', '.join(names)[:60]}"
        fix = _converted(file, f"csv.DictReader(sys.stdin, {json.dumps(fields)}{of_tabs})")
        if file != STDIN:
            fix += f"{_read_then(file, fields, [])}, if the first sentence of a row should be the likelier one"
        return CorruptFile(fact, where=f"{file}, line 1", limit="JSON lines: one object a line", fix=fix)
    if suffix not in (".csv", ".tsv") and not {good, bad} <= {*names}:
        return None
    fact = f"the first line is not JSON, but the header of a table: {', '.join(names)[:60]}"
    fix = _converted(file, f"csv.DictReader(sys.stdin{', delimiter=chr(9)' * (delimiter != ',')})")
    if file != STDIN:
        fix += _read_then(file, names, [] if {good, bad} <= {*names} else ["--good", "--bad"])
    return CorruptFile(fact, where=f"{file}, line 1", limit="JSON lines: one object a line", fix=fix)


def _read_then(file: str, names: Sequence[str], lacking: Sequence[str]) -> str:
    """The command that follows a conversion; `names` are the fields, `lacking` the options that name none of them."""
    fields = _fields_meant(dict.fromkeys(names, ""), None) if lacking else ""
    if lacking and not fields.startswith("--good"):
        return ""
    words = [_converted_file(file) if word == file else word for word in arguments_of_command()]
    line = shlex.join(["slm", "pairs", *without(lacking, words)])
    return f" && {line} {fields}".rstrip()


def _check_lengths(file: str, documents: Sequence[Sequence[int]], config: Any) -> None:
    """Raises `InvalidInput` for the first sentence that does not fit into the model's context."""
    for index, document in enumerate(documents):
        if len(document) - 1 > config.max_context:
            raise InvalidInput(
                f"a sentence has {len(document):,} ids",
                where=f"{file}, pair {index // 2 + 1}",
                limit=f"seq_len {config.seq_len:,}",
                fix="shorten it, or leave it out",
            )


def _points(good: float, bad: float) -> float:
    return 1.0 if good < bad else 0.5 if good == bad else 0.0


def _share(points: Sequence[float]) -> dict[str, Any]:
    from slmmodel.evaluation.retrieval import wilson

    right, n = sum(points), len(points)
    low, high = wilson(right, n)
    return {"pairs": n, "right": right, "share": right / n, "low": low, "high": high, "ties": points.count(0.5)}
