"""The page of `slmtok view` in a headless Chromium: `python -m benchmarks.view_page`.

The ids of the page against the engine's on 10,000 texts of the four corpora, for three public encodings and a
tokenizer of each scheme trained on docs_en, and the time
from an edit of a text of 100 kB to the next frame: edits all over the text, at its beginning, and another text pasted
over it. `text box alone` is the same edit in a text box that nothing listens to: what the browser takes of the
time. Needs what benchmarks/pages.py needs, the shared corpora, and TIKTOKEN_CACHE_DIR.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import slmtok
from benchmarks.pages import launch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from shared_data import CORPORA, corpus_documents

ENCODINGS = ("gpt2", "cl100k_base", "o200k_base")
SCHEMES, OWN_VOCAB = ("bpe", "word", "char"), 8192
TEXT_BYTES = 100_000
N_TEXTS, MAX_TEXT_CHARS = 10_000, 2_000
EDITS = 12
_IDS = """async ({ index, texts }) => {
  window.encodings ??= (await readData()).tokenizers.map((each) => new Tokenizer(each));
  return texts.map((text) => window.encodings[index].encode(text));
}"""
_EDIT = """async ({ selector, edits }) => {
  const input = document.querySelector(selector), times = [];
  const drawn = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
  input.focus();
  for (const { place, text } of edits) {
    const at = Math.floor(place * input.value.length);
    if (place !== undefined) input.setSelectionRange(at, at);
    await drawn();
    const begin = performance.now();
    // Typed as a user types it: to set the value lays out the whole text box again.
    if (place !== undefined) document.execCommand("insertText", false, text);
    else input.value = text;
    if (place === undefined) input.dispatchEvent(new Event("input"));
    await drawn();
    times.push(performance.now() - begin);
  }
  return times;
}"""
_TEXT_BOX = """(text) => {
  const box = document.getElementById("text").cloneNode();
  box.id = "alone";
  box.value = text;
  document.body.append(box);
}"""


@cache
def texts_of(corpus: str) -> list[str]:
    """The first parts of a corpus, each of 100 kB."""
    encoded = "\n".join(corpus_documents(corpus)).encode()
    return [
        encoded[first : first + TEXT_BYTES].decode(errors="ignore")
        for first in range(0, (EDITS + 1) * TEXT_BYTES, TEXT_BYTES)
    ]


def sample_texts() -> list[str]:
    """Parts of random documents, equally many of each corpus."""
    draw, texts = random.Random(20), []
    for corpus in CORPORA:
        for document in draw.choices(corpus_documents(corpus), k=N_TEXTS // len(CORPORA)):
            start = draw.randrange(len(document) + 1)
            texts.append(document[start : start + draw.randrange(MAX_TEXT_CHARS)])
    return texts


def encodings(names: tuple[str, ...]) -> dict[str, slmtok.Tokenizer]:
    """Public encodings by name."""
    return {name: slmtok.from_tiktoken(name) for name in names}


def open_view(browser: Any, tokenizers: dict[str, slmtok.Tokenizer], text: str) -> Any:
    """A page with these tokenizers."""
    with tempfile.NamedTemporaryFile(suffix=".html", delete=False) as file:
        path = Path(file.name)
    try:
        slmtok.view(tokenizers, text).save(path, force=True)
        page = browser.new_page()
        page.goto(path.as_uri())
        page.wait_for_selector("#panels .panel")
    finally:
        path.unlink()
    return page


def compare_ids(browser: Any) -> bool:
    """Prints how many texts have other ids in the page than in the engine."""
    texts, wrong, learned = sample_texts(), {}, slmtok.Texts(corpus_documents("docs_en"))
    tokenizers = encodings(ENCODINGS)
    # docs_en has fewer characters than that.
    tokenizers |= {
        scheme: slmtok.train(learned, vocab_size=OWN_VOCAB, scheme=scheme, allow_smaller=True) for scheme in SCHEMES
    }
    page = open_view(browser, tokenizers, "")
    for index, (name, tok) in enumerate(tokenizers.items()):
        found: list[list[int]] = []
        for first in range(0, len(texts), 500):
            found += page.evaluate(_IDS, {"index": index, "texts": texts[first : first + 500]})
        wrong[name] = sum(ids != tok.encode_list(text) for ids, text in zip(found, texts, strict=True))
    page.close()
    print(json.dumps({"texts": len(texts), "bytes": sum(len(text.encode()) for text in texts), "differ": wrong}))
    return not any(wrong.values())


def time_edits(browser: Any) -> None:
    """Prints milliseconds from an edit to the next frame, for each corpus and number of encodings.

    On a machine with other work the least of them says what the page itself takes.
    """
    places = [(number + 1) / (EDITS + 1) for number in range(EDITS)]
    for names in (ENCODINGS[:1], ENCODINGS):
        for corpus in CORPORA:
            text, *others = texts_of(corpus)
            looks: dict[str, list[dict[str, Any]]] = {
                "anywhere": [{"place": place, "text": "x"} for place in places],
                "at the beginning": [{"place": 0.0005, "text": "x"}] * EDITS,
                "another text": [{"text": other} for other in others],
            }
            page = open_view(browser, encodings(names), text)
            page.evaluate(_TEXT_BOX, text)
            line: dict[str, Any] = {"encodings": len(names), "corpus": corpus, "bytes": len(text.encode())}
            for look, edits in looks.items():
                line[look] = summary(page.evaluate(_EDIT, {"selector": "#text", "edits": edits}))
                line[look]["text box alone"] = summary(page.evaluate(_EDIT, {"selector": "#alone", "edits": edits}))
            print(json.dumps(line), flush=True)
            page.close()


def summary(times: list[float]) -> dict[str, Any]:
    """The least, the median and the most of some times, in milliseconds."""
    return {"least": round(min(times), 1), "median": round(statistics.median(times), 1), "most": round(max(times), 1)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", default=["ids", "time"], choices=["ids", "time"])
    given = parser.parse_args()
    with launch() as browser:
        equal = "ids" not in given.what or compare_ids(browser)
        if "time" in given.what:
            time_edits(browser)
    return 0 if equal else 1


if __name__ == "__main__":
    raise SystemExit(main())
