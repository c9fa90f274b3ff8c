"""`slmtok view`: the file that it writes, and the page in a browser where one is installed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from page_checks import BROWSER, HOSTILE, INVISIBLE, data_of, rendered

import slmtok
from slmtok.errors import InvalidPattern, OptionError, OutputExists, WrongType
from slmtok.stories import story


@pytest.fixture(scope="module")
def tokenizer() -> slmtok.Tokenizer:
    return slmtok.train(slmtok.Texts([story(i) for i in range(200)]), vocab_size=1024)


def test_the_page_holds_text_and_tokenizers(tokenizer: slmtok.Tokenizer) -> None:
    page = slmtok.view({"mine": tokenizer, "bytes": slmtok.train(slmtok.Texts(["a"]), scheme="byte")}, "a <b> ሴ").html
    data = data_of(page)
    assert data["text"] == "a <b> ሴ"
    assert [each["name"] for each in data["tokenizers"]] == ["mine", "bytes"]
    assert data["tokenizers"][0]["merges"] == [list(merge) for merge in tokenizer.vocabulary.merges]
    assert "{{" not in page
    assert not re.search(r"(src|href|action)\s*=|https?:|@import|url\(", page)


def test_equal_arguments_give_equal_bytes(tokenizer: slmtok.Tokenizer) -> None:
    assert slmtok.view(tokenizer, "x").html == slmtok.view({"tokenizer": tokenizer}, "x").html


def test_a_notebook_shows_the_page(tokenizer: slmtok.Tokenizer) -> None:
    made = slmtok.view(tokenizer)
    shown = made._repr_html_()
    assert shown.startswith('<iframe srcdoc="&lt;!doctype html&gt;')
    assert shown.count("<") == 2, "the page is text of the frame"
    assert repr(made).startswith("View(")


def test_save(tokenizer: slmtok.Tokenizer, tmp_path: Path) -> None:
    page = slmtok.view(tokenizer)
    page.save(tmp_path / "p.html")
    assert (tmp_path / "p.html").read_text("utf-8") == page.html
    with pytest.raises(OutputExists):
        page.save(tmp_path / "p.html")


def test_wrong_arguments(tokenizer: slmtok.Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in ("tok.json", [tokenizer], {}):
        with pytest.raises(WrongType, match="view takes a Tokenizer, or a dict of them"):
            slmtok.view(wrong)  # type: ignore[arg-type]
    with pytest.raises(WrongType, match="'b' is int, not a Tokenizer"):
        slmtok.view({"a": tokenizer, "b": 5})  # type: ignore[dict-item]
    with pytest.raises(OptionError, match="1,048,577 bytes"):
        slmtok.view(tokenizer, "x" * 1048577)
    odd = slmtok.train(slmtok.Texts(["a b c"] * 9), vocab_size=272, pattern=r"(?x) a | b ")
    with pytest.raises(InvalidPattern, match="no counterpart in a browser"):
        slmtok.view(odd)
    monkeypatch.setattr("slmtok.pages.view_page.MAX_TOKENIZER_BYTES", 500)
    with pytest.raises(OptionError, match="of the page"):
        slmtok.view(tokenizer)


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
def test_hostile_tokens_stay_text(tmp_path: Path) -> None:
    made = slmtok.train(
        slmtok.Texts(HOSTILE),
        vocab_size=4096,
        pattern=r"[^\x01]+|\x01",
        require=[text.encode() for text in HOSTILE],
        max_token_bytes=0,
        allow_smaller=True,
    )
    text = "\x01".join(HOSTILE)
    assert len(HOSTILE) >= 50
    assert len(made.encode(text)) == 2 * len(HOSTILE) - 1
    page = tmp_path / "page.html"
    slmtok.view({HOSTILE[0]: made, HOSTILE[1]: made}, text).save(page)
    shown = rendered(page, tmp_path)
    assert f">{2 * len(HOSTILE) - 1} tokens<" in shown
    assert "&lt;script&gt;window.hacked=1&lt;/script&gt;" in shown
    made_by_script = shown[shown.index('<div id="panels">') :]
    assert not re.search(r"<(img|svg|b|iframe|style)\b", made_by_script)
    assert made_by_script.count("<script") == made_by_script.count("</script") == 2, (
        "the data and the script of the page"
    )
    assert not set(made_by_script) & INVISIBLE
