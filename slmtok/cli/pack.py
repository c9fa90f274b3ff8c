"""`slmtok pack`: a corpus to token shards for training; the same command continues an interrupted run."""

from __future__ import annotations

import os
import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok.cli.corpus_notes import separator_note
from slmtok.cli.files import (
    check_is_file,
    check_is_folder_name,
    check_placeholders,
    dry_run_outcome,
    identified_files,
    names_tokenizer,
)
from slmtok.cli.options import (
    TOKENIZER,
    command,
    corpus_argument,
    dry_run_option,
    instead,
    options_of,
    output_options,
    ray_option,
    tokenizer_option,
)
from slmtok.cli.output import Outcome, Row, counted, flag_naming, in_time, note, print_rows
from slmtok.cli.packed import split_text
from slmtok.cli.progress import Progress
from slmtok.cli.reports import unusual_warnings
from slmtok.corpus import FORMATS, STDIN, format_of
from slmtok.corpus.contents import UNUSUAL
from slmtok.corpus.reading import excluded_globs, is_excluded, leave_out_too
from slmtok.errors import OptionError, Setting, SlmtokError, render
from slmtok.files import resolved
from slmtok.opening import TIKTOKEN, load
from slmtok.options import PackOptions
from slmtok.path_arguments import free_name
from slmtok.shards.notes import tail_left_out, uncut_notes
from slmtok.sizes import format_bytes

if TYPE_CHECKING:
    from slmtok.shards import Packed
    from slmtok.shards.journal import State
    from slmtok.tokenizer import Tokenizer


_HABITS = {
    "--allow-special": instead(
        "--separator {}, which ends documents; pack reads no special in a text", "'<|endoftext|>'"
    ),
    "--layout": instead("--output-format {}", "nanogpt"),
    "--shuffle": instead("leave it out: slm train shuffles documents and sequences, by run.seed"),
    **dict.fromkeys(
        ("--append", "--resume"), instead("leave it out: one pack names all files; the same command goes on")
    ),
    **dict.fromkeys(
        ("--append-eod", "--append-eos", "--add-eos", "--eos", "--add-bos", "--bos", "--add-special-tokens"),
        instead("leave it out: pack puts bos before each document, and eos after it"),
    ),
    **dict.fromkeys(
        ("--num-shards", "--n-shards", "--shards"),
        instead("--shard-tokens 100000000, which closes a shard at so many ids; no option sets the number of shards"),
    ),
    "--dtype": instead("nothing: ids have two bytes up to 65,536 ids, else four"),
    **dict.fromkeys(
        ("--block-size", "--seq-len", "--max-length", "--max-seq-length"),
        instead(
            "leave it out: a run cuts the ids into sequences, by data.seq_len; "
            "--output-format npy --chunk-size {} writes rows",
            "1024",
        ),
    ),
}
"""Options of other tools, each with what stands for it here."""


@command("pack", example="slmtok pack corpus/ -t tok.json -o data", habits=_HABITS)
@corpus_argument
@tokenizer_option("tokenizers", multiple=True,
        help=f"The tokenizer: {TOKENIZER}. Repeat for several, with {{name}} in -o.")  # fmt: skip
@options_of(PackOptions, into="options")
@output_options(
    required=True,
    metavar="DIR",
    help="The folder of the shards; {name} in it is the name of the tokenizer.",
    force="Start again: replace what is there.",
)
@ray_option
@dry_run_option
def pack(
    corpus: tuple[str, ...],
    tokenizers: tuple[str, ...],
    options: PackOptions,
    output: str,
    force: bool,
    ray: str | None,
    dry_run: bool,
) -> Outcome:
    """Encode a corpus to token shards: ids, document offsets, raw bytes, and a manifest that records the tokenizer.

    An interrupted run continues when the same command is given again, and ends in the same bytes. vocab.json and the
    tokenizer file lie beside the shards: the folder is all that training needs.
    """
    check_is_file(output)
    check_placeholders(output, "{name}")
    check_is_folder_name(output)
    _refuse_listed_tokenizers(corpus, tokenizers, output)
    inside = _output_in_corpus(corpus, output, options)
    try:
        files = identified_files(corpus, options)
    except SlmtokError as error:
        if inside is not None:
            leave_out_too(error, excluded_globs(inside))
        raise
    if inside is not None:
        raise inside
    if dry_run:
        return dry_run_outcome(files, options, output)
    folders = _folders(output, tokenizers, files)
    done = [
        _pack(list(corpus), load(name), folder, options, ray=ray, force=force)
        for name, folder in zip(tokenizers, folders, strict=True)
    ]
    return _outcome(done, has_whole_files=any(format_of(path, options) == FORMATS["text"] for path in files))


def _refuse_listed_tokenizers(corpus: tuple[str, ...], tokenizers: tuple[str, ...], output: str) -> None:
    """Raises `OptionError` for `-t a.json b.json`, whose second tokenizer stands in the corpus."""
    more = [name for name in corpus if names_tokenizer(name) and name not in tokenizers]
    if 0 < len(more) < len(corpus) and all(map(names_tokenizer, tokenizers)):
        options = " ".join(f"-t {shlex.quote(name)}" for name in (*tokenizers, *more))
        place = "" if "{name}" in output else f" -o {shlex.quote(output + '-{name}')}"
        raise OptionError(
            f"{more[0]} is a tokenizer, and stands among the text",
            limit="-t before each tokenizer",
            fix=options + place,
            option="tokenizer",
        )


def _output_in_corpus(corpus: tuple[str, ...], output: str, options: PackOptions) -> OptionError | None:
    """The error for an output below a folder of the corpus, whose files the next run would read as text; else None."""
    inside = Path(output, "manifest.json").absolute()
    folders = [name for name in corpus if Path(name).is_dir() and Path(name).absolute() in inside.parents]
    is_hidden = any(
        part.startswith(".") for name in folders for part in inside.relative_to(Path(name).absolute()).parts
    )
    if not folders or is_hidden or is_excluded(str(inside), options):
        return None
    fact = f"the output {output!r} is in the folder {folders[0]!r} of the corpus"
    fix: list[Setting | str]
    if resolved(inside.parent) == (folder := resolved(folders[0])):
        # A glob of its files would leave out the corpus.
        fact = f"the output {output!r} is a folder of the corpus"
        fix = [Setting("output", free_name(os.path.normpath(f"{folders[0]}/../{folder.name}-data")))]
    else:
        glob = f"{Path(output).name}/{'**' if options.subset else '*'}"
        fix = [Setting("exclude", glob), ", or an output outside of it"]
    return OptionError(
        fact,
        limit="all files below a folder of the corpus are read as text; the same command again would read the shards",
        fix=tuple(fix),
        option="output",
    )


def _folders(output: str, tokenizers: tuple[str, ...], files: list[str]) -> list[str]:
    """The folder of each tokenizer. Raises `OptionError`."""
    names = [
        name.removeprefix(TIKTOKEN) if name.startswith(TIKTOKEN) else Path(name).name.removesuffix(".json")
        for name in tokenizers
    ]
    found = [output.replace("{name}", name) for name in names]
    if len(set(found)) < len(found):
        raise OptionError(
            f"-o {output} is one folder for {len(found)} tokenizers",
            limit="names: " + ", ".join(names),
            fix=f"-o {shlex.quote(f'{output}/{{name}}')}"
            if len(set(names)) == len(names)
            else "tokenizer files of different names",
            option="output",
        )
    if len(found) > 1 and STDIN in files:
        raise OptionError(
            "stdin can be read only once, and there are several tokenizers",
            fix="save the text to a file first",
            option="tokenizer",
        )
    return found


def _pack(
    corpus: list[str], tokenizer: Tokenizer, folder: str, options: PackOptions, *, ray: str | None, force: bool
) -> tuple[Packed, float, tuple[str, ...]]:
    """Packs, and gives the seconds that it took and warnings; where it is interrupted, prints how to continue."""
    from slmtok import shards

    begun, remote = time.perf_counter(), None
    if ray is not None:
        from slmtok.cluster import pack_on

        remote = pack_on(ray)
    with PackProgress(options) as progress:
        try:
            packed = shards.pack(
                corpus, tokenizer, folder, options, force=force, on_progress=progress.update, remote=remote
            )
        except Exception:
            raise
        except BaseException:
            progress.stop()
            command = shlex.join(["slmtok", *sys.argv[1:]]) if sys.argv[1:2] == ["pack"] else "the same command"
            note(f"{counted(progress.docs, 'document')} packed; to continue:\n  {command.replace(' --force', '')}")
            raise
    return packed, time.perf_counter() - begun, tuple(unusual_warnings(progress.unusual, options.encoding))


class PackProgress(Progress):
    """Called with the state of the run after each chunk: share done, MB/s, time left, documents, documents/s, ids/s.

    The share is that of the bytes of the input files, compressed as they are; it is unknown for stdin.
    """

    def __init__(self, options: PackOptions, *, quiet: bool | None = None) -> None:
        super().__init__("pack", quiet=quiet)
        self._line_step_percent = 0
        self.docs = 0
        self.unusual: tuple[int, ...] = (0,) * len(UNUSUAL)
        self._limits = options.max_bytes, options.max_docs
        self._begun = time.monotonic()
        self._first: tuple[int, int, int] | None = None

    def update(self, state: State) -> None:
        """Reports the state."""
        totals = state.totals("train") + state.totals("val")
        self.docs, self.unusual = totals.docs, state.unusual
        done = (totals.docs, totals.bytes, totals.tokens)
        if self._first is None:
            # What an earlier run had packed does not count as speed.
            self._first, self._begun = done, time.monotonic()
            return
        share = self._share(state.share, totals.bytes, totals.docs)
        rates = self._rates(done, time.monotonic() - self._begun, share)
        percent = [f"{100 * share:.0f} %"] if share is not None else []
        amount = ", ".join([*percent, format_bytes(totals.bytes)])
        self.report("pack", share or 0, 1.0 if share else 0, rates, amount=amount)

    def _share(self, share_read: float | None, n_bytes: int, docs: int) -> float | None:
        """The share of the work that is done, None where it is unknown."""
        max_bytes, max_docs = self._limits
        shares = [n_bytes / max_bytes if max_bytes else 0.0, docs / max_docs if max_docs else 0.0, share_read or 0.0]
        return min(1.0, max(shares)) or None

    def _rates(self, done: tuple[int, int, int], seconds: float, share: float | None) -> str:
        assert self._first is not None
        docs, size, tokens = (now - first for now, first in zip(done, self._first, strict=True))
        seconds = max(seconds, 1e-9)
        # A terminal of 80 columns has room for the first three, and for a bar.
        rates = [f"{size / seconds / 1e6:,.0f} MB/s"]
        if share and size:
            rates.append(f"{in_time(done[1] * (1 - share) / share / (size / seconds))} left")
        return ", ".join(
            [*rates, f"{done[0]:,} documents", f"{docs / seconds:,.0f} documents/s", f"{tokens / seconds:,.0f} ids/s"]
        )


# The summary.


def _other_split(split: str, *, has_whole_files: bool) -> str:
    """How to pack again with documents in both splits: by their order, or by a separator where files are documents."""
    ways = [] if "tail" in split else ["--val tail:10% --force"]
    ways += ["--separator STRING --force"] if has_whole_files else []
    return f"; {' or '.join(ways)} makes some" if ways else ""


def _outcome(done: list[tuple[Packed, float, tuple[str, ...]]], *, has_whole_files: bool) -> Outcome:
    results = [_result(packed, seconds) for packed, seconds, _ in done]

    def summary() -> None:
        for result in results:
            print_rows(_rows(result), title=result["path"])

    first = done[0][0].manifest
    about_data = [
        f"{counted(result['skipped'], 'malformed record')} left out of {result['path']}"
        for result in results
        if result["skipped"]
    ]
    left_out = tail_left_out(first)
    if left_out:
        fact, fix = (render(part, flag_naming) for part in left_out)
        about_data += [
            f"{fact}: {each['path']} has no val documents; {fix} makes some, and --force packs again"
            for each in results
        ]
    about_data += [
        f"--val {result['split']} chose {share} of {counted(result['documents'], 'document')}: {result['path']} has no "
        f"{name} documents{_other_split(result['split'], has_whole_files=has_whole_files)}"
        for result in ([] if left_out else results)
        for name, share in (("val", "none"), ("train", "all"))
        if result["split"] != "none" and name not in result["splits"]
    ]
    about_data += [
        f"--val {result['split']} leaves no byte of text for {name} in {result['path']}: its "
        f"{counted(split['docs'], 'document')} {'is' if split['docs'] == 1 else 'are'} empty"
        + "; --separator STRING --force cuts files into documents"
        * has_whole_files
        for result in results
        for name, split in result["splits"].items()
        if result["split"] != "none" and not split["bytes"] and result["bytes"]
    ]
    about_data += [separator_note(first["plan"]["options"]["read"]["separator"]) for _ in uncut_notes(first)]
    # The text is the same for every tokenizer, and so are the warnings about it.
    warnings = (*about_data, *dict.fromkeys(warning for *_, about_text in done for warning in about_text))
    return Outcome(results[0] if len(results) == 1 else {"folders": results}, summary=summary, warnings=warnings)


def _result(packed: Packed, seconds: float) -> dict[str, Any]:
    """What `--json` prints of one folder."""
    content = packed.manifest
    splits = content["splits"]
    total = {name: sum(split[name] for split in splits.values()) for name in ("docs", "tokens", "bytes")}
    return {
        "path": str(packed.out),
        "layout": packed.layout,
        "files": packed.files,
        "documents": total["docs"],
        "tokens": total["tokens"],
        "bytes": total["bytes"],
        "bytes_per_token": round(total["bytes"] / max(total["tokens"], 1), 4),
        "split": content["plan"]["split"]["rule"],
        "inference": content["plan"]["options"].get("inference", "merges"),
        "splits": splits,
        **{key: content[key] for key in ("shards", "skipped", "digest", "fingerprint", "n_vocab", "frame")},
        "subsets": packed.subsets,
        "seconds": round(seconds, 3),
    }


def _rows(result: dict[str, Any]) -> list[Row]:
    speed = result["bytes"] / max(result["seconds"], 1e-3) / 1e6
    return [
        ("documents", f"{result['documents']:,}"),
        ("text", format_bytes(result["bytes"])),
        ("ids", f"{result['tokens']:,} of {result['bytes_per_token']:.2f} bytes"),
        *((name, split_text(split)) for name, split in result["splits"].items()),
        ("split", result["split"]),
        ("inference", "" if result["inference"] == "merges" else result["inference"]),
        ("frame", result["frame"]),
        ("files", "" if result["layout"] == "slm" else f"{result['layout']}: {'  '.join(result['files'])}"),
        ("subsets", "  ".join(f"{number:,}: {path}" for number, path in result["subsets"].items())),
        ("tokenizer", result["fingerprint"]),
        ("corpus", result["digest"]),
        ("time", f"{in_time(result['seconds'])}, {speed:,.1f} MB/s"),
    ]
