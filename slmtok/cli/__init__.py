"""The command `slmtok`: its table of commands. To add a command, write its function and its line in `COMMANDS`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from slmtok import errors as slmtok_errors
from slmtok.cli.app import App, Entry
from slmtok.cli.errors import ErrorPolicy
from slmtok.cli.library_memory import NUMPY, refuse_beyond_limits
from slmtok.cli.library_threads import refuse_without_threads
from slmtok.cli.ranks import check_is_alone

COMMANDS: dict[str, Entry] = {
    "train": Entry("slmtok.cli.train:train", "train a tokenizer on text, or on counts of text"),
    "count": Entry("slmtok.cli.count:count", "count the pretokens of a corpus, the input of training"),
    "merge": Entry("slmtok.cli.count:merge", "merge counts files, such as those of many machines"),
    "slice": Entry("slmtok.cli.surgery:slice", "cut a tokenizer to a smaller vocabulary, as if trained to it"),
    "extend": Entry("slmtok.cli.surgery:extend", "append newly learned tokens to a tokenizer"),
    "prune": Entry("slmtok.cli.surgery:prune", "remove unused tokens from a tokenizer"),
    "set-special": Entry("slmtok.cli.surgery:set_special", "set the spelling of special tokens; no id changes"),
    "reproduce": Entry("slmtok.cli.train:reproduce", "train a tokenizer again from its lock file, and compare"),
    "encode": Entry("slmtok.cli.encode:encode", "encode text to ids"),
    "decode": Entry("slmtok.cli.decode:decode", "decode ids to text"),
    "pack": Entry("slmtok.cli.pack:pack", "encode a corpus to token shards for training"),
    "show": Entry("slmtok.cli.show:show", "show the token boundaries of a text, side by side"),
    "view": Entry("slmtok.cli.view:view", "write a page that shows tokens while one types, in the browser"),
    "report": Entry("slmtok.cli.report:report", "write a page about tokenizers: vocabulary, samples, measures"),
    "vocab": Entry("slmtok.cli.vocab:vocab", "list the tokens of a tokenizer"),
    "info": Entry("slmtok.cli.inspection:info", "describe a file"),
    "verify": Entry("slmtok.cli.inspection:verify", "check that files are complete and unchanged"),
    "audit": Entry("slmtok.cli.audit:audit", "prove that a tokenizer or packed data loses nothing of a text"),
    "eval": Entry("slmtok.cli.eval:eval", "measure tokenizers on a text, side by side"),
    "exposure": Entry("slmtok.cli.exposure:exposure", "list the ids that a training on packed data hardly meets"),
    "diff": Entry("slmtok.cli.diff:diff", "compare two tokenizers: vocabulary, order, segmentation, cost"),
    "align": Entry("slmtok.cli.align:align", "show where one model spends more bits than another"),
    "export": Entry("slmtok.cli.exchange:export", "write a tokenizer for transformers or tiktoken, ids compared"),
    "import": Entry("slmtok.cli.exchange:import_", "read a tokenizer.json or a rank file and keep its ids"),
    "bench": Entry("slmtok.cli.bench:bench", "compare the speed of tokenizers on your own text"),
    "sample-corpus": Entry("slmtok.cli.bench:sample_corpus", "write generated stories to train on"),
    "completion": Entry("slmtok.cli.completion:completion", "print the script of completion in a shell"),
}


def prepare(command: str) -> None:
    """What every command of slmtok and slm needs: errors instead of the signals SIGBUS and SIGABRT, and of numpy."""
    if command != "completion":
        refuse_without_threads()
        refuse_beyond_limits("numpy", NUMPY)
        # `slm` works on ids without the engine.
        with suppress(ImportError):
            from slmtok._engine import report_fatal_signals

            report_fatal_signals()


def _prepare(command: str) -> None:
    check_is_alone()
    prepare(command)


def _versions() -> dict[str, object]:
    import sys

    from slmtok import __version__
    from slmtok._engine import UNICODE_VERSION
    from slmtok.vocabulary import BEHAVIOUR

    return {
        "slmtok": __version__,
        "behaviour": BEHAVIOUR,
        "unicode": UNICODE_VERSION,
        "python": ".".join(map(str, sys.version_info[:3])),
    }


APP = App(
    name="slmtok",
    summary="train, use and inspect byte-level tokenizers for small language models",
    commands=COMMANDS,
    versions=_versions,
    policy=ErrorPolicy(
        own=(slmtok_errors.SlmtokError,),
        usage=(
            slmtok_errors.OptionError,
            slmtok_errors.InvalidPattern,
            slmtok_errors.UnknownName,
            slmtok_errors.UnknownSpecial,
            slmtok_errors.VocabularyTooSmall,
        ),
        answer_no=(slmtok_errors.NotEqual,),
    ),
    package="slmtok",
    prepare=_prepare,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command line (without the program's name) and returns its exit status."""
    return APP.main(argv)
