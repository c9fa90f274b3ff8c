"""`slmtok pack`: a corpus to token shards, ready for training; a run that was stopped goes on where it was."""

from __future__ import annotations

import shlex
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slmtok.cli import _corpus, _numbers, _options, _output, _pack_report
from slmtok.cli._corpus_options import with_corpus
from slmtok.cli._pack_progress import PackProgress
from slmtok.cli._tokenizers import TIKTOKEN, open_tokenizer
from slmtok.corpus import STDIN, ReadOptions
from slmtok.errors import InvalidOption
from slmtok.shards.header import FRAMES
from slmtok.shards.layouts import LAYOUTS

if TYPE_CHECKING:
    from slmtok.shards.convert import Packed
    from slmtok.shards.run import Elsewhere

_WHAT = "What is written"
SHARD_TOKENS = 1 << 27

_Corpus = Annotated[
    list[str],
    typer.Argument(metavar="CORPUS", help="Files, folders, globs, hf:NAME, or - for stdin.", show_default=False),
]
_Tokenizers = Annotated[
    list[str],
    typer.Option(
        "--tokenizer",
        "-t",
        metavar="TOK",
        help=f"The tokenizer: {_options.TOKENIZER}. Repeat for several, with {{name}} in -o.",
        show_default=False,
    ),
]
_Out = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        metavar="DIR",
        help="The folder for the shards; {name} is the tokenizer's name.",
        show_default=False,
        rich_help_panel=_options.OUTPUT,
    ),
]
_Val = Annotated[
    str,
    typer.Option(
        "--val",
        metavar="RULE",
        help="Which documents are validation: hash:0.5%, tail:10%, files:GLOB, none; auto goes by their number.",
        rich_help_panel=_WHAT,
    ),
]
_Frame = Annotated[
    str | None,
    typer.Option(
        "--frame",
        metavar="|".join(FRAMES),
        parser=_options.choice(*FRAMES),
        help="Which specials stand before and behind each document.",
        show_default="that of --as; bos_eos for slm",
        rich_help_panel=_WHAT,
    ),
]
_ShardTokens = Annotated[
    int,
    typer.Option(
        "--shard-tokens",
        metavar="N",
        parser=_numbers.size,
        help="Close a shard at the first document end with this many ids (500000, 128M).",
        show_default="2^27",
        rich_help_panel=_WHAT,
    ),
]
_MaxTokens = Annotated[
    int | None,
    typer.Option(
        "--max-tokens",
        metavar="N",
        parser=_numbers.size,
        help="Stop at the first document end with this many ids.",
        show_default=False,
        rich_help_panel=_WHAT,
    ),
]
_MaxChunks = Annotated[
    int | None,
    typer.Option(
        "--max-chunks",
        metavar="N",
        parser=_numbers.whole,
        help="Stop after this many shards for training; with --chunk-size, rows.",
        show_default=False,
        rich_help_panel=_WHAT,
    ),
]
_As = Annotated[
    str,
    typer.Option(
        "--as",
        metavar="|".join(LAYOUTS),
        parser=_options.choice(*LAYOUTS),
        help="The layout: our shards, or files for other people's loaders.",
        rich_help_panel=_WHAT,
    ),
]
_ChunkSize = Annotated[
    int | None,
    typer.Option(
        "--chunk-size",
        metavar="N",
        parser=_numbers.whole,
        help="With --as npy: one array of rows of N ids.",
        show_default=False,
        rich_help_panel=_WHAT,
    ),
]
_Subset = Annotated[
    str | None,
    typer.Option(
        "--subset",
        metavar="N,N,...",
        help="Also pack this many documents for training, each number in a folder of its own; nested.",
        show_default=False,
        rich_help_panel=_WHAT,
    ),
]
_Force = Annotated[
    bool,
    typer.Option("--force", help="Start again: replace what is there.", rich_help_panel=_options.OUTPUT),
]
_ThreadsOption = Annotated[
    int, _options.threads_option("Threads to use; 0 means one a physical core. Results do not depend on it.")
]


@with_corpus
def pack(
    corpus: _Corpus,
    tokenizer: _Tokenizers,
    output: _Out,
    val: _Val = "auto",
    frame: _Frame = None,
    shard_tokens: _ShardTokens = SHARD_TOKENS,
    max_tokens: _MaxTokens = None,
    max_chunks: _MaxChunks = None,
    layout: _As = "slm",
    chunk_size: _ChunkSize = None,
    subset: _Subset = None,
    *,
    read: ReadOptions,
    threads: _ThreadsOption = 0,
    ray: _options.Ray = None,
    force: _Force = False,
    dry_run: _options.DryRun = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """Turn a corpus into token shards: ids, document offsets, raw bytes, and a manifest that knows the tokenizer.

    A run that was stopped, by whatever means, goes on when the same command is given again, and ends in the same
    bytes. Beside the shards lie vocab.json and the tokenizer file: the folder is all that training needs.
    """
    files = _corpus.text_files(corpus, read)
    if dry_run:
        return _corpus.plan(files, read, output)
    from slmtok.shards.convert import Target

    targets = [
        Target(
            out=Path(out),
            layout=layout,
            frame=frame,
            val=val,
            shard_tokens=shard_tokens,
            max_tokens=max_tokens,
            max_chunks=max_chunks,
            chunk_size=chunk_size,
            subsets=_subsets(subset),
        )
        for out in _outputs(output, tokenizer, files)
    ]
    jobs = [
        _Job(corpus, files, name, target, read, threads, ray, force, quiet)
        for name, target in zip(tokenizer, targets, strict=True)
    ]
    return _pack_report.outcome([job.run() for job in jobs], quiet=quiet)


@dataclass(frozen=True)
class _Job:
    """One tokenizer's share of the command."""

    corpus: list[str]
    files: list[str]
    tokenizer: str
    target: Any
    read: ReadOptions
    threads: int
    ray: str | None
    force: bool
    quiet: bool

    def run(self) -> tuple[Packed, float]:
        """Packs, and says how to go on where it is stopped."""
        begun = time.perf_counter()
        tokenizer = open_tokenizer(self.tokenizer)
        with PackProgress(self.read, quiet=self.quiet) as progress:
            try:
                packed = self.target.pack(
                    self.corpus,
                    tokenizer,
                    read=self.read,
                    threads=self.threads,
                    force=self.force,
                    watch=progress,
                    elsewhere=self._elsewhere(),
                )
            except Exception:
                raise
            except BaseException:
                self._tell_how_to_resume(progress)
                raise
        return packed, time.perf_counter() - begun

    def _elsewhere(self) -> Elsewhere | None:
        """Where else to encode, if that is asked for."""
        if self.ray is None:
            return None
        from slmtok.cluster import pack_on

        return pack_on(self.ray)

    def _tell_how_to_resume(self, progress: PackProgress) -> None:
        progress.stop()
        command = shlex.join(["slmtok", *sys.argv[1:]]) if sys.argv[1:2] == ["pack"] else "the same command"
        command = command.replace(" --force", "")
        _output.note(f"{_numbers.grouped(progress.docs)} documents are packed; to go on from there:\n  {command}")


def _outputs(output: str, tokenizers: list[str], files: list[str]) -> list[str]:
    """The folder of each tokenizer. Raises `InvalidOption`."""
    names = [
        name.removeprefix(TIKTOKEN) if name.startswith(TIKTOKEN) else Path(name).name.removesuffix(".json")
        for name in tokenizers
    ]
    found = [output.replace("{name}", name) for name in names]
    if len(set(found)) < len(found):
        raise InvalidOption(
            f"-o {output} is one folder for {len(found)} tokenizers",
            where="slmtok pack",
            limit="names: " + ", ".join(names),
            fix="-o 'data/{name}', and tokenizer files of different names",
            option="output",
        )
    if len(found) > 1 and STDIN in files:
        raise InvalidOption(
            "standard input can be read once, and there are several tokenizers",
            where="slmtok pack",
            fix="save the text to a file first",
            option="tokenizer",
        )
    return found


def _subsets(value: str | None) -> tuple[int, ...]:
    """`20000,2M` as numbers. Raises `InvalidOption`."""
    from slmtok.sizes import parse_size

    numbers = [parse_size(part) for part in value.split(",")] if value else []
    if any(not number for number in numbers) or len(set(numbers)) < len(numbers):
        raise InvalidOption(
            f"--subset {value!r} is no list of different numbers of documents",
            where="slmtok pack",
            fix="--subset 20000,200000",
            option="subset",
        )
    return tuple(sorted(number for number in numbers if number))
