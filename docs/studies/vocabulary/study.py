"""The study of vocabularies, patterns and schemes: trains its models with `slm ablate`, and writes its page.

    python docs/studies/vocabulary/study.py CORPORA -o OUT

CORPORA is a folder with docs_en, books, code and multi (.jsonl.zst). The command continues after an interruption.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from page import processor_seconds, write_page

HERE = Path(__file__).parent
VOCABS = "512,1024,2048,4096,8192"
DIGITS = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,GROUP}+"
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
"""The pattern `slm`, with digits in groups of at most GROUP."""
BUDGET, SHORT_BUDGET = "bytes=600KB", "bytes=250KB"
"""Text that a run reads: each takes at most 90 seconds on a core of a machine without other work. An id of the scheme
`char` is one character, so that question has shorter runs."""
VALIDATION = {"docs_en": "hash:2%", "books": "hash:6%", "code": "hash:5%", "multi": "hash:0.7%"}
"""About 200 documents of each corpus."""
SHARED = ("--max-doc-chars", "2000", "--cpu", "--threads", "1", "--set", "run.eval_every=0")


@dataclass(frozen=True)
class Question:
    """One ablation. margin: the smallest difference that the seeds find by its power line, rounded up."""

    name: str
    title: str
    corpus: str
    arms: tuple[str, ...]
    """the axis, as options of `slm ablate`"""
    why: str
    """the text of its section: the question and its choices"""
    seeds: int
    margin: str
    budget: str = BUDGET

    def text(self, corpora: Path) -> Path:
        """The file of its corpus."""
        return corpora / f"{self.corpus}.jsonl.zst"

    def command(self, corpora: Path, out: Path) -> list[str]:
        """The command line that answers it, after `slm`."""
        size = ("--seeds", str(self.seeds), "--margin", self.margin, "--budget", self.budget)
        val = ("--val", VALIDATION[self.corpus])
        return [
            "ablate",
            *self.arms,
            "--text",
            str(self.text(corpora)),
            *val,
            *SHARED,
            *size,
            "-o",
            str(out / self.name),
        ]


def _vocabs(corpus: str, title: str, why: str, *more: str) -> Question:
    arms = ("--vocabs", VOCABS, "--baseline", "vocab-2048", *more)
    return Question(f"vocabs-{corpus}", f"Size of the vocabulary, {title}", corpus, arms, why, 3, "3%")


_GROUPS = [f"digits-{size}={DIGITS.replace('GROUP', str(size))}" for size in (2, 1, 3)]
_CURVE = "The curve of the first question on other text, matched in bytes alone."
QUESTIONS = (
    _vocabs("docs_en", "on technical English",
            "Slices of one tokenizer. A larger vocabulary makes fewer ids of a text, but each costs more: matched "
            "in bytes all arms read the same text, matched in FLOPs all do the same arithmetic.", "--also", "flops"),
    Question("digits", "Digits in groups of 1, 2 or 3", "docs_en",
             tuple(part for group in _GROUPS for part in ("--patterns", group)),
             "The pattern `slm` with digits in groups of at most 1, 2 (as `slm` is) or 3 (as `cl100k` is).", 5, "1%"),
    Question("patterns", "Patterns", "docs_en", ("--patterns", "slm,gpt2,o200k"),
             "The pattern `slm` against those of GPT-2 and o200k, each with a tokenizer of its own.", 5, "1%"),
    Question("schemes", "Schemes", "docs_en", ("--schemes", "bpe,word,char"),
             "Byte-level BPE against whole words and against characters, at the same size of the vocabulary. An id of "
             "`char` is one character, so the runs read less text.", 3, "2%", SHORT_BUDGET),
    Question("data-sizes", "Text that the tokenizer is trained on", "docs_en", ("--data-sizes", "100%,10%,1%"),
             "Tokenizers that are trained on a share of the documents; the models all read the same ones. The text has "
             "about 9,500 documents, too few for 20,000 and more, so the sizes are shares.", 5, "1%"),
    _vocabs("books", "on English prose", _CURVE),
    _vocabs("code", "on Python and C", _CURVE),
    _vocabs("multi", "on many languages", _CURVE),
)  # fmt: skip


def run(question: Question, corpora: Path, out: Path) -> int:
    """Trains what is left of a question; its output goes to a log beside its folder. Gives the exit status."""
    command, log = question.command(corpora, out), out / f"{question.name}.log"
    sys.stdout.write(f"{question.name}: begun, progress in {log}\n")
    sys.stdout.flush()
    with log.open("a") as output:
        output.write(f"slm {shlex.join(command)}\n")
        output.flush()
        code = subprocess.call([sys.executable, "-m", "slmmodel", *command], stdout=output, stderr=output)
    sys.stdout.write(f"{question.name}: {f'failed with exit status {code}, see {log}' if code else 'finished'}\n")
    return code


def run_all(corpora: Path, out: Path, jobs: int) -> int:
    """Runs the questions, `jobs` at a time; gives 1 where one failed, else 0."""
    known = [processor_seconds(question, HERE) for question in QUESTIONS]
    sys.stdout.write(
        f"about {sum(filter(None, known)) / jobs / 60:.0f} minutes by the kept times, at {jobs} questions at a time"
    )
    sys.stdout.write(f"; {known.count(None)} questions have none\n" if None in known else "\n")
    with ThreadPoolExecutor(jobs) as pool:
        try:
            # A killed process has a negative status.
            return int(any(list(pool.map(lambda question: run(question, corpora, out), QUESTIONS))))
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            sys.stdout.write("interrupted; the same command goes on\n")
            sys.exit(130)


def main(arguments: list[str] | None = None) -> int:
    """Runs the questions and writes the page; gives 1 where a question failed, else 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", type=Path, help="the folder of the corpora")
    parser.add_argument("-o", "--output", type=Path, default=Path("study"), help="the folder of runs and results")
    parser.add_argument("--page", type=Path, default=HERE, help="the folder of the page")
    parser.add_argument("--page-only", action="store_true", help="train nothing: write the page of what is finished")
    parser.add_argument("--jobs", type=int, default=2, help="questions at a time, one thread each (default: 2)")
    chosen = parser.parse_args(arguments)
    texts = {question.text(chosen.corpora) for question in QUESTIONS}
    if missing := sorted(str(text) for text in texts if not (chosen.page_only or text.exists())):
        parser.error(f"not found: {', '.join(missing)}")
    chosen.output.mkdir(parents=True, exist_ok=True)
    code = 0 if chosen.page_only else run_all(chosen.corpora, chosen.output, chosen.jobs)
    for note in write_page(QUESTIONS, chosen.output, chosen.page):
        sys.stdout.write(f"{note}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
