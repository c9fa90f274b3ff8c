"""The page of `slmtok report`: its data, its script in V8, hostile tokens in a browser where one is installed."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from page_checks import BROWSER, HOSTILE, INVISIBLE, data_of, rendered
from py_mini_racer import mini_racer
from shared_data import peer, tiktoken_cache

import slmtok
from slmtok.analysis.measure import measure, measure_counts
from slmtok.analysis.size_curve import embedding_share, size_curve, sizes_of
from slmtok.errors import OptionError
from slmtok.pages.charts import Interval, Line, forest_plot, line_chart
from slmtok.pages.page_data import vocabulary_data
from slmtok.pages.report import Findings, Subject, report
from slmtok.stories import story

peer("jinja2")
CLASSES = ["special"] * 16 + ["mixed"] * 5000
PRELUDE = """
class TextEncoder {
  encode(text) { return Array.from(unescape(encodeURIComponent(text)), (char) => char.charCodeAt(0)); }
}
class TextDecoder {}
const document = { getElementById: () => ({}) };
"""


@pytest.fixture(scope="module")
def tokenizer() -> slmtok.Tokenizer:
    return slmtok.train(slmtok.Texts([story(i) for i in range(200)]), vocab_size=1024)


def made(tokenizer: slmtok.Tokenizer, name: str = "mine", **more: Any) -> str:
    subject = Subject(name, tokenizer, CLASSES[: tokenizer.n_vocab], **more)
    return report([subject], Findings(), samples=["a"] * len(more.get("samples", ())), bodies=[], footer="f").html


def test_the_page_holds_the_vocabulary(tokenizer: slmtok.Tokenizer) -> None:
    page = made(tokenizer, samples=[[300, 301]], counts={"count": list(range(1024))})
    (subject,) = data_of(page)["tokenizers"]
    assert subject["merges"] == [list(merge) for merge in tokenizer.vocabulary.merges]
    assert subject["counts"]["count"][1023] == 1023
    assert subject["samples"] == [[300, 301]]
    assert subject["specials"]["1"] == ["bos", "<s>"]
    assert page == made(tokenizer, samples=[[300, 301]], counts={"count": list(range(1024))})
    assert not re.search(r"(src|action)\s*=|href\s*=\s*\"[^#]|@import|url\((?!#)", page)


def test_a_page_has_a_limit(tokenizer: slmtok.Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slmtok.pages.sections.MAX_PAGE_BYTES", 20_000)
    with pytest.raises(OptionError, match="the page would have"):
        made(tokenizer)


def test_a_public_vocabulary_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tiktoken_cache()))
    cl100k = slmtok.from_tiktoken("cl100k_base")
    counts = {"count": [id * 7919 % 100_003 for id in range(cl100k.n_vocab)]}
    page = report(
        [Subject("cl", cl100k, ["mixed"] * cl100k.n_vocab, counts)], Findings(), samples=[], bodies=[], footer=""
    )
    assert 500_000 < len(page.html.encode()) < 5_000_000


def test_parts_of_tokens_are_those_of_the_merges(tokenizer: slmtok.Tokenizer) -> None:
    merges = vocabulary_data(tokenizer)
    ranks = {
        "kind": "ranks",
        "tokens": [None if each is None else each.decode("latin-1") for each in tokenizer.vocabulary.token_table],
    }
    script = PRELUDE + "".join(
        files("slmtok.pages").joinpath(f"{name}.js").read_text("utf-8") for name in ("tokenizer",)
    )
    script += """
    const sides = (data) => {
      const vocabulary = new VOCABULARIES[data.kind](data);
      const ids = vocabulary.tokens.map((token, part) => (token === null ? undefined : vocabulary.sidesOf(part))
        ?.map((side) => vocabulary.ids[side]));
      return ids.filter((pair) => pair);
    };
    const both = (text) => JSON.stringify(JSON.parse(text).map(sides));
    """
    with mini_racer() as v8:
        v8.eval(script)
        listed, found = json.loads(str(v8.call("both", json.dumps([merges, ranks]))))
    assert listed == found == [list(merge) for merge in tokenizer.vocabulary.merges]


def test_the_search_takes_text_bytes_and_ids() -> None:
    script = PRELUDE + "".join(
        files("slmtok.pages").joinpath(name).read_text("utf-8") for name in ("tokenizer.js", "tokens.js", "report.js")
    ).replace("start().catch(fail);", "")
    rows = [{"id": id, "token": token} for id, token in enumerate(["\n", " a", "\xff", "Ã©", "a\\n"])]
    script += f"const rows = {json.dumps(rows)};"
    script += "const find = (query) => JSON.stringify(rows.filter(searchTest(query)).map((row) => row.id));"
    with mini_racer() as v8:
        v8.eval(script)
        found = {
            query: json.loads(str(v8.call("find", query)))
            for query in ("", r"\n", " a", "␣a", r"\xff", "é", "#2", r"\\", "x")
        }
    assert found == {
        "": [0, 1, 2, 3, 4],
        r"\n": [0],
        " a": [1],
        "␣a": [1],
        r"\xff": [2],
        "é": [3],
        "#2": [2],
        r"\\": [4],
        "x": [],
    }


def test_counts_of_ids_by_domain(tokenizer: slmtok.Tokenizer) -> None:
    documents = [(story(i).encode(), i % 2) for i in range(6)]
    _, (found,) = measure([("t", tokenizer)], documents, domains=2)
    for domain in range(2):
        ids = [id for text, where in documents if where == domain for id in tokenizer.encode_list(text)]
        assert found.counts[domain].tolist() == np.bincount(ids, minlength=1024).tolist()


def test_counts_give_what_the_text_gives(tokenizer: slmtok.Tokenizer) -> None:
    texts = [story(i) for i in range(5)]
    of_text, (one,) = measure([("t", tokenizer)], [(text.encode(), 0) for text in texts])
    of_counts, (other,) = measure_counts([("t", tokenizer)], slmtok.count(slmtok.Texts(texts)))
    assert (of_counts.bytes, of_counts.documents) == (of_text.bytes, of_text.documents)
    assert other.counts.tolist() == one.counts.tolist()
    assert other.bytes_per_token == one.bytes_per_token
    gpt2 = slmtok.train(slmtok.Texts(texts), vocab_size=300, pattern="gpt2")
    with pytest.raises(OptionError, match="the counts have another pattern"):
        measure_counts([("t", gpt2)], slmtok.count(slmtok.Texts(texts)))


def test_the_curve_is_that_of_slices(tokenizer: slmtok.Tokenizer) -> None:
    texts = [story(i).encode() for i in range(4)]
    assert sizes_of(tokenizer) == [512, 1024]
    assert sizes_of(slmtok.slice(tokenizer, 272)) == [272]
    found = size_curve(tokenizer, texts, np.array([1, 2, 1, 1]))
    weighted = [*texts, texts[1]]
    for one in found:
        part = slmtok.slice(tokenizer, one.n_vocab)
        tokens = sum(len(part.encode(text)) for text in weighted)
        assert one.bytes_per_token == sum(map(len, weighted)) / tokens
    assert all(a.bytes_per_token < b.bytes_per_token for a, b in pairwise(found))
    # A vocabulary of 1000 with d_model 10 has 10,000 parameters, two layers 2,400.
    assert embedding_share(1000, 10, 2) == 10_000 / 12_400


def test_charts_take_the_colours_of_the_page() -> None:
    peer("matplotlib")
    lines = [Line("<a> $x$", [1, 2], [3, 4]), Line("b", [1, 2], [4, 3], 1, marked=True)]
    svg = line_chart(lines, x="x", y="y")
    assert svg.startswith("<svg")
    assert "&lt;a&gt; $x$" in svg, "names are text, and no mathematics"
    assert "var(--series-0)" in svg
    assert "currentColor" in svg
    assert not re.search(r"#0[123]0", svg)
    assert svg == line_chart(lines, x="x", y="y")
    assert "var(--series-0)" in forest_plot([Interval("b", -0.1, 0.0, 0.2)], x="bits")


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
def test_hostile_tokens_and_names_stay_text(tmp_path: Path) -> None:
    assert len(HOSTILE) >= 50
    pattern = r"[^\x01]+|\x01"
    hostile = slmtok.train(
        slmtok.Texts(HOSTILE),
        vocab_size=4096,
        pattern=pattern,
        require=[text.encode() for text in HOSTILE],
        max_token_bytes=0,
        allow_smaller=True,
    )
    ids = hostile.encode_list("\x01".join(HOSTILE))
    assert len(ids) == 2 * len(HOSTILE) - 1
    everything = [list(range(16, hostile.n_vocab))]
    classes = [HOSTILE[0]] * hostile.n_vocab
    subject = Subject("".join(HOSTILE), hostile, classes, {HOSTILE[1]: [1] * hostile.n_vocab}, [ids, *everything])
    page = report([subject], Findings(), samples=HOSTILE[:2], bodies=[], footer="f").html
    static = page[: page.index('<script type="text/plain"')]
    assert "<script" not in static
    assert not set(static) & INVISIBLE
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    shown = rendered(tmp_path / "page.html", tmp_path)
    assert f">{2 * len(HOSTILE) - 1} tokens" in shown
    assert "&lt;script&gt;window.hacked=1&lt;/script&gt;" in shown
    body = shown[shown.index("<main>") : shown.index("</main>")]
    assert not re.search(r"<(img|svg|b|iframe|style|script)\b", body)
    assert not set(body) & INVISIBLE
