"""The passkey task: a number hidden in filler sentences, a question for it at the end; and tasks as training data.

The task is that of Mohtashami and Jaggi (2023, arXiv 2305.16300), with the sentences of arXiv 2404.07143. Numbers of
evaluation and of training are disjoint.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, fields
from random import Random
from typing import NamedTuple, NoReturn

import numpy as np

from slmmodel.cli.text import Text
from slmmodel.data.mixture import Generated
from slmmodel.data.packing import Ints
from slmmodel.data.source import Delimiters, Shard
from slmmodel.data_config import DataSource
from slmmodel.errors import Argument, InvalidConfig, InvalidInput, unknown_name
from slmmodel.json_files import FaultError
from slmmodel.sizes import ceil_div
from slmtok.files import free_name, read_limited
from slmtok.specials import has_lone_surrogate

KEY = "{key}"
KEY_CLASSES = 7
"""Numbers that are multiples of it are for evaluation, the others for training."""
MAX_DISTINCT = 20_000
"""Different documents in a block of training data; a larger share repeats them."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True)
class Template:
    """The sentences of the task."""

    intro: str = (
        "There is an important info hidden inside a lot of irrelevant text. Find it and memorize them. "
        "I will quiz you about the important information there."
    )
    filler: str = "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again."
    """repeated sentence by sentence"""
    needle: str = "The pass key is {key}. Remember it. {key} is the pass key."
    question: str = "What is the pass key? The pass key is"
    answer: str = " {key}"
    """follows the question"""

    def __post_init__(self) -> None:
        with_key = ("needle", "answer")
        wrong = {
            name: text for name, text in vars(self).items() if not text.strip() or (KEY in text) != (name in with_key)
        }
        if wrong:
            example = "; ".join(f"{name}: {getattr(Template, name)!r}" for name in wrong)
            raise InvalidConfig(
                " and ".join(f"{name} is {text!r}" for name, text in wrong.items()),
                where="the template of the passkey task",
                limit=f"{KEY} in {' and '.join(with_key)}, not in the other sentences; none is blank",
                fix=f"write {'it' if len(wrong) == 1 else 'them'} as in: {example}",
            )

    def sentences(self) -> list[str]:
        """The filler, sentence by sentence."""
        return _SENTENCE_END.split(self.filler.strip())


def load_template(path: str) -> Template:
    """A YAML file with some of `intro`, `filler`, `needle`, `question`, `answer`. Raises `InvalidConfig`."""
    from slmmodel.yaml_files import parse

    if " " in path and not os.path.exists(path):  # noqa: PTH110  (a name of any length is fine)
        _refuse_sentence(path)
    try:
        found = parse(read_limited(path, "metadata"))
    except FaultError as fault:
        raise InvalidConfig(f"{path} {fault}", where=fault.place_in(path), fix="write NAME: TEXT lines") from None
    names = [field.name for field in fields(Template)]
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise InvalidConfig(
            f"{path} is not a table of texts", where=path, limit=", ".join(names), fix="NAME: TEXT lines"
        )
    for name in found:
        if name not in names:
            raise unknown_name("sentence", str(name), names, f"write {{}} in {path}")
    for name, value in found.items():
        if has_lone_surrogate(value):
            fact = f"{name} of {path} holds half of a surrogate pair, which is no character"
            raise InvalidConfig(
                fact, where=path, fix="write the character itself, or its escape of eight digits: \\U0001F600"
            )
    return Template(**found)


def _refuse_sentence(text: str) -> NoReturn:
    """Raises `InvalidConfig` for a sentence in the place of a file, which is the needle where it has a number."""
    needle, file = re.sub(r"\{\w*\}", KEY, text), shlex.quote(free_name("template.yaml"))
    name = "needle" if KEY in needle else "filler"
    written = f"printf '%s\\n' {shlex.quote(f'{name}: {json.dumps(needle, ensure_ascii=False)}')} > {file}"
    raise InvalidConfig(
        f"{text!r} is a text, not a file",
        where="the template of the passkey task",
        limit=f"a file of NAME: TEXT lines; names: {', '.join(field.name for field in fields(Template))}",
        fix=(f"{written}, and ", Argument("template", file)),
        option="template",
    )


class Task(NamedTuple):
    """One prompt and its answer."""

    prompt: list[int]
    """ids from the opening special to the question"""
    answer: list[int]
    """ids that follow the question"""
    key: str
    needle: tuple[int, int]
    """of the prompt's ids: the first of the needle, and the one after its last"""
    text: str
    """of the prompt"""


class TaskMaker:
    """Makes tasks of any length and depth for one tokenizer."""

    def __init__(
        self, text: Text, opening: list[int], template: Template | None = None, *, digits: int = 5, max_new: int = 0
    ) -> None:
        """`opening`: ids before the text. `max_new`: room for more ids than the answer has."""
        self.text, self.opening, self.template, self.digits = text, opening, template or Template(), digits
        self.room = max(max_new, len(self.answer("9" * digits)))
        self._sentences = self.template.sentences()
        self._sizes = np.array([len(text.encode(f" {sentence}")) for sentence in self._sentences])

    def key(self, random: Random, *, training: bool = False) -> str:
        """A number without leading zeros, of those for evaluation or for training."""
        while True:
            number = random.randrange(10 ** (self.digits - 1), 10**self.digits)
            if (number % KEY_CLASSES == 0) != training:
                return str(number)

    def answer_text(self, key: str) -> str:
        """The text that follows the question."""
        return self.template.answer.replace(KEY, key)

    def answer(self, key: str) -> list[int]:
        """Its ids."""
        return self.text.encode(self.answer_text(key))

    def least(self, key: str) -> int:
        """Ids of a task without filler."""
        return len(self._task(0, 0.0, key).prompt) + self.room

    def make(self, length: int, depth: float, key: str) -> Task:
        """The longest task of whole sentences with at most `length` ids, room for the answer included.

        `depth`: 0 puts the number at the start, 1 before the question.
        Raises `InvalidInput` where the task itself is longer.
        """
        least = self.least(key)
        if least > length:
            raise InvalidInput(
                f"the passkey task does not fit into {length:,} ids",
                limit=f"{least:,} ids without any filler",
                fix=f"a length of {least:,} or more, or shorter sentences in a template",
            )
        cycles, rest = divmod(length - least, int(self._sizes.sum()))
        n = cycles * len(self._sizes) + int(np.searchsorted(np.cumsum(self._sizes), rest, side="right"))
        # Sentences begin with a space, so sizes add up; this is for tokenizers that merge across it.
        while len((task := self._task(n, depth, key)).prompt) + self.room > length:
            n -= 1
        return task

    def _task(self, n: int, depth: float, key: str) -> Task:
        """The task with `n` sentences of filler; the needle stands at the end of a sentence nearest to `depth`."""
        filler = [self._sentences[i % len(self._sentences)] for i in range(n)]
        ends = np.concatenate([[0], np.cumsum(self._sizes[np.arange(n) % len(self._sizes)])])
        at = int(np.abs(ends - depth * ends[-1]).argmin())
        before = " ".join([self.template.intro, *filler[:at]])
        needle = " " + self.template.needle.replace(KEY, key)
        after = " " + " ".join([*filler[at:], self.template.question])
        first = len(self.opening) + len(self.text.encode(before))
        text, stop = before + needle + after, first + len(self.text.encode(needle))
        return Task(self.opening + self.text.encode(text), self.answer(key), key, (first, stop), text)


def evaluation_tasks(maker: TaskMaker, length: int, depth: float, samples: int, seed: int) -> list[Task]:
    """The tasks of one cell; the same for equal arguments."""
    return [maker.make(length, depth, key) for key in _evaluation_keys(maker, length, depth, samples, seed)]


def evaluation_numbers(digits: int) -> int:
    """How many different numbers with this many digits are for evaluation."""
    return len(range(-(-(10 ** (digits - 1)) // KEY_CLASSES), -(-(10**digits) // KEY_CLASSES)))


def _evaluation_keys(maker: TaskMaker, length: int, depth: float, samples: int, seed: int) -> list[str]:
    """Different numbers: of the same task a second answer is the same. `samples`: at most `evaluation_numbers`."""
    random, keys = Random(f"{seed}/{length}/{depth}"), dict[str, None]()
    while len(keys) < samples:
        keys[maker.key(random)] = None
    return list(keys)


def needed_ids(maker: TaskMaker, length: int, depth: float, samples: int, seed: int) -> int:
    """The most ids that an answer to one of these tasks has up to the end of its number; what follows is not scored."""
    before = maker.template.answer.partition(KEY)[0]
    return max(len(maker.text.encode(before + key)) for key in _evaluation_keys(maker, length, depth, samples, seed))


def training_tasks(maker: TaskMaker, max_length: int, seed: str) -> Iterator[Task]:
    """Endless tasks with the numbers of training, of uniform lengths and depths; prompt and answer fit `max_length`.

    Raises `InvalidInput` where the shortest does not fit.
    """
    random = Random(seed)
    while True:
        key, depth = maker.key(random, training=True), random.random()
        yield maker.make(random.randint(min(maker.least(key), max_length), max_length), depth, key)


def scores(task: Task, generated: str) -> tuple[bool, bool]:
    """Whether the generated text contains the number, and whether its first run of digits is the number."""
    digits = re.search(r"\d+", generated)
    return task.key in generated, digits is not None and digits[0] == task.key


# The source `passkey: SHARE` of `data.train`.


_DELIMITERS = 2
"""The ids around a document at most."""
_TRIED_KEYS = 200
"""Numbers that are tried for the longest task: they differ in their ids."""


def passkeys(
    text: Text, source: DataSource, seq_len: int, seed: str, delimiters: Delimiters, from_step: int | None = None
) -> Generated:
    """The passkey documents of a source: at most `seq_len` ids, delimiters included, as a share of those of each block.

    `from_step`: the first step of the stage whose own length `seq_len` is.
    Raises `InvalidConfig` for a template that is none, and where the documents are made, if they do not fit.
    """
    template = load_template(source.template) if source.template else None
    maker, answers = TaskMaker(text, [], template, digits=source.digits), source.loss_on == "answer"

    def make(block: int, n_ids: int) -> Shard:
        try:
            shard, unscored = _shard(maker, seq_len, f"{seed}/{block}", n_ids, delimiters)
        except InvalidInput:
            random = Random(seed)
            longest = max(maker.least(maker.key(random, training=True)) for _ in range(_TRIED_KEYS)) + _DELIMITERS
            fact = f"passkey tasks do not fit into sequences of {seq_len:,} ids"
            fix: str | Argument = Argument("model.seq_len", longest)
            if from_step is not None:
                fact = f"data.stages: {fact}, the seq_len from step {from_step:,} on"
                fix = f"seq_len: {longest} in that stage"
            raise InvalidConfig(
                fact,
                limit=f"{longest:,} ids for the longest without any filler",
                fix=(fix, " or more, or shorter sentences in a template"),
                option="model.seq_len" if from_step is None else "data.stages",
            ) from None
        return shard._replace(unscored=unscored) if answers else shard

    assert source.passkey is not None
    identity = (maker.template, maker.digits, seq_len, seed, *["answer"] * answers)
    return Generated(source.name, source.passkey, make, repr(identity))


def _shard(maker: TaskMaker, seq_len: int, seed: str, n_ids: int, delimiters: Delimiters) -> tuple[Shard, Ints]:
    """Documents with `n_ids` ids or a few more, and the inputs of each whose target is before the answer.

    The documents repeat after `MAX_DISTINCT`.
    """
    before = [delimiters.opening] * delimiters.stores_opening
    after = [delimiters.closing] * delimiters.stores_closing
    documents: list[list[int]] = []
    nbytes: list[int] = []
    unscored: list[int] = []
    total = 0
    for task in training_tasks(maker, seq_len - _DELIMITERS, seed):
        if total >= n_ids or len(documents) == MAX_DISTINCT:
            break
        documents.append([*before, *task.prompt, *task.answer, *after])
        nbytes.append(len((task.text + maker.answer_text(task.key)).encode()))
        # The opening id is an input too, and the last id of the prompt has the first of the answer as its target.
        unscored.append(len(task.prompt))
        total += len(documents[-1]) + delimiters.added
    lengths = np.array([len(document) for document in documents], dtype=np.int64)
    stops = np.cumsum(lengths)
    # Repeated where all distinct documents are fewer ids than asked.
    count = len(lengths) if total >= n_ids else ceil_div(n_ids * len(lengths), total)
    order = np.arange(count) % max(len(lengths), 1)
    ids = np.fromiter((id for document in documents for id in document), dtype=np.uint32, count=int(lengths.sum()))
    shard = Shard(ids, (stops - lengths)[order], stops[order], np.array(nbytes, dtype=np.int64)[order])
    return shard, np.array(unscored, dtype=np.int64)[order]
