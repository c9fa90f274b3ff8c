"""What a report says of runs by their text: bits of a text, next tokens after a prompt, samples."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slmmodel.cli.open_by_path import RunContext
from slmmodel.errors import SlmmodelError
from slmtok.files import beginning
from slmtok.pages.sections import Block, Markup, Paragraph, Quote, Table
from slmtok.token_text import escape_token

if TYPE_CHECKING:
    from slmmodel.checkpoint import RunFolder
    from slmmodel.cli.text import Text
    from slmtok.analysis.align import Losses

MAX_MAP_BYTES = 5_000
"""Text whose bits are drawn; scoring it takes seconds on a small model."""
MAX_PROMPT_BYTES = 80
N_SAMPLES, SAMPLE_IDS, TEMPERATURE = 2, 120, 0.8
N_NEXT = 12
MAX_WORDS, MIN_OCCURRENCES = 4, 10
MAX_TRAINING_BYTES = 8_000_000
"""Training text in which the words after a prompt are counted."""


@dataclass(frozen=True)
class Opened:
    """A run with its weights and its tokenizer."""

    name: str
    context: RunContext
    text: Text


def text_of(paths: Sequence[str]) -> list[bytes]:
    """The first documents of files, up to `MAX_MAP_BYTES`. Raises what reading raises."""
    from slmtok.cli.files import read_texts, require_bytes, text_files
    from slmtok.options import ReadOptions

    read = ReadOptions()
    found = _first(read_texts(text_files(paths, read), read))
    require_bytes(sum(map(len, found)), paths)
    return found


def validation_text(run: RunFolder, text: Text) -> list[bytes]:
    """The first validation documents of a run, up to `MAX_MAP_BYTES`. Raises what opening them raises."""
    from slmmodel.cli.eval import open_documents

    return _first(text.documents(open_documents(run).block(0)))


def training_text(run: RunFolder, text: Text) -> bytes:
    """The first training documents of each stage of a run, about `MAX_TRAINING_BYTES` in all.

    Raises what opening them raises.
    """
    from slmmodel.cli.recorded import begun_stages, steps_trained, training_data

    stages = begun_stages(training_data(run), steps_trained(run))
    found: list[bytes] = []
    for _, source in stages:
        room = MAX_TRAINING_BYTES // len(stages)
        for document in text.documents(source.block(0)):
            found.append(document)
            room -= len(document)
            if room <= 0:
                break
    return b"\n".join(found)


def _first(documents: Any) -> list[bytes]:
    found: list[bytes] = []
    room = MAX_MAP_BYTES
    for document in documents:
        found.append(beginning(document, room))
        room -= len(document)
        if room <= 0:
            break
    return [each for each in found if each]


def prompt_of(texts: Sequence[bytes]) -> str:
    """The beginning of a text, without the word in which it ends and the space before that."""
    if not texts:
        return ""
    begin = beginning(texts[0], MAX_PROMPT_BYTES).decode("utf-8", "replace").split("\n")[0]
    return begin.rpartition(" ")[0] or begin


def loss_map(opened: Sequence[Opened], texts: Sequence[bytes]) -> Iterator[Block]:
    """The text, each byte coloured by its bits; of several runs the first two, and their difference."""
    from slmtok.analysis.align import align
    from slmtok.pages.loss_map import columns

    if not opened or not texts:
        return
    try:
        losses = [_losses(each, texts) for each in opened[:2]]
    except SlmmodelError as error:
        yield Paragraph(f"The text is not scored: {error.fact}.", role="warning")
        return
    if len(opened) > 2:
        yield Paragraph(f"The first two of {len(opened)} runs are shown.")
    size = sum(map(len, texts))
    rows = [[one.path, f"{one.bits:,.0f}", f"{one.bits / size:.4f}"] for one in losses]
    # A character is not cut, so a text that is may end up to three bytes before the limit.
    is_cut = size > MAX_MAP_BYTES - 4
    yield Table(f"{'The first ' if is_cut else ''}{size:,} bytes of text", ["run", "bits", "bits per byte"], rows)
    documents = list(align(losses[0], losses[-1], texts))
    yield Markup(columns(documents, losses[0].path, losses[1].path if len(losses) > 1 else None))


def _losses(opened: Opened, texts: Sequence[bytes]) -> Losses:
    import numpy as np

    from slmmodel.cli.text_source import NO_VALIDATION, Corpus, text_source
    from slmmodel.evaluation.scoring import score
    from slmtok.analysis.align import Losses

    context = opened.context
    source = text_source(Corpus(opened.text, [], texts=list(texts)), context.vocab, "train", NO_VALIDATION)
    scores = score(context.model, source, context.vocab, seq_len=context.model.config.seq_len)
    return Losses(opened.name, None, scores.nats, scores.nbytes.astype(np.int64), scores.offsets.astype(np.int64))


def next_words(training: bytes, prompt: str) -> Iterator[Block]:
    """What follows the last words of a prompt in a text: after as many of them as occur `MIN_OCCURRENCES` times."""
    words = re.findall(r"\s*\S+", prompt)[-MAX_WORDS:]
    for n in range(len(words), 0, -1):
        last = "".join(words[-n:]).strip()
        # \w of bytes is ASCII; bytes from 80 are letters of other scripts, mostly.
        before, behind = rb"(?<![\w\x80-\xff])", rb"(?![\w\x80-\xff])([ ]?[\w'\x80-\xff]+|\s|[^\w\s])"
        pattern = before + re.escape(last.encode()) + behind
        found = Counter(match[1] for match in re.finditer(pattern, training))
        total = sum(found.values())
        if total >= MIN_OCCURRENCES or (n == 1 and total):
            rows = [
                [escape_token(word), f"{times:,}", f"{times / total:.1%}"]
                for word, times in sorted(found.items(), key=lambda item: (-item[1], item[0]))[:N_NEXT]
            ]
            yield Table(f"Training text: words after {last!r}, {total:,} times", ["word", "times", "share"], rows)
            return


def next_tokens(opened: Sequence[Opened], prompt: str) -> Iterator[Block]:
    """The likeliest next tokens of each run after a prompt."""
    from slmmodel.sampling.prefill import next_log_probabilities

    for each in opened:
        ids = _ids(each, prompt)
        try:
            logp = next_log_probabilities(each.context.model, ids)
        except SlmmodelError as error:
            yield Paragraph(f"{each.name}: the prompt is not read: {error.fact}.", role="warning")
            continue
        order = logp.sort(descending=True, stable=True).indices[:N_NEXT].tolist()
        rows = [
            [word, str(id), f"{float(logp[id].exp()):.4f}"]
            for word, id in zip(each.text.words(order), order, strict=True)
        ]
        entropy = float(-(logp.exp() * logp.clamp(min=-745)).sum())
        caption = f"{each.name}: next tokens after {prompt!r}; entropy {entropy:.3f} nats"
        yield Table(caption, ["token", "id", "probability"], rows)


def samples(opened: Sequence[Opened], prompt: str) -> Iterator[Block]:
    """Continuations of a prompt by each run, of seed 0."""
    from slmmodel.decoding_options import DecodingOptions
    from slmmodel.generation import generate
    from slmmodel.run import special_ids

    for each in opened:
        ids = _ids(each, prompt)
        options = DecodingOptions(**special_ids(each.context.vocab), temperature=TEMPERATURE, seed=0)
        try:
            found = generate(each.context.model, [ids] * N_SAMPLES, options, max_new_tokens=SAMPLE_IDS)
        except SlmmodelError as error:
            yield Paragraph(f"{each.name}: nothing is generated: {error.fact}.", role="warning")
            continue
        for number, sample in enumerate(found, 1):
            text = each.text.data(sample.ids).decode("utf-8", "replace")
            title = f"{each.name}, sample {number}: temperature {TEMPERATURE:g}, ended by {sample.reason}"
            yield Quote(title, prompt + text)


def _ids(opened: Opened, prompt: str) -> list[int]:
    from slmmodel.decoding_options import opening_ids

    return opening_ids(opened.context.vocab) + (opened.text.encode(prompt) if prompt else [])
