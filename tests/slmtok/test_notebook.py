"""How objects show themselves in a notebook: small tables whose text is escaped."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser

import numpy as np
import pytest

import slmtok
from slmtok.errors import WrongType
from slmtok.notebook import html_table


def cells(html: str) -> list[str]:
    """The texts of a table, which must be well formed."""
    found: list[str] = []
    opened: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            opened.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert opened.pop() == tag

        def handle_data(self, data: str) -> None:
            found.append(data)

    Reader().feed(html)
    assert opened == []
    return found


def test_text_is_escaped_and_empty_rows_are_left_out() -> None:
    table = html_table("<b>", [("<i>", "a & <script>"), ("none", "")])
    assert "<script>" not in table and cells(table) == ["<b>", "<i>", "a & <script>"]


def test_a_tokenizer() -> None:
    tok = slmtok.train(slmtok.Texts(["<b>bold</b> & <b>more</b>"] * 20), vocab_size=280)
    found = cells(tok._repr_html_())
    rows = dict(zip(found[1::2], found[2::2], strict=True))
    assert found[0] == "Tokenizer" and rows["n_vocab"] == "280" and rows["fingerprint"] == tok.fingerprint
    assert "1 <s> (bos)" in rows["specials"] and tok.id_to_token(279) == rows["learned last"].split()[0]
    plain = slmtok.train(slmtok.Texts(["a"]), scheme="byte", vocab_size=272)
    assert "learned last" not in cells(plain._repr_html_())


def test_ragged() -> None:
    tok = slmtok.train(slmtok.Texts(["a"]), scheme="byte", vocab_size=272)
    batch = tok.encode_batch(["ab", "x" * 40, "", *["c"] * 5])
    found = cells(batch._repr_html_())
    assert found[:3] == [repr(batch), "0", "113 114"] and found[-2:] == ["…", "3 more"]
    assert found[5:7] == ["2", "(no ids)"] and found[4] == " ".join(["136"] * 16) + " …" and len(found) == 13


def test_encodings() -> None:
    tok = slmtok.train(slmtok.Texts(["<b>bold</b> & <b>more</b>"] * 20), vocab_size=284)
    from slmtok.compat import as_hf
    from slmtok.compat.tokenizers import ByteLevelBPETokenizer

    encoding = ByteLevelBPETokenizer(tok).encode("<b>bold")
    found = cells(encoding._repr_html_())
    assert found == [f"Encoding of {len(encoding)} ids", *encoding.tokens]
    assert f'title="id {encoding.ids[0]}"' in encoding._repr_html_()
    encoded = as_hf(tok)(["<b>bold", "x" * 600])
    texts = cells(encoded._repr_html_())
    assert texts[: 1 + len(encoded.tokens(0))] == ["Encoded: input_ids, attention_mask", *encoded.tokens(0)]
    assert texts[-1].startswith(" and ")
    segments = tok.encode_segments([slmtok.Special("bos"), "ab"])
    assert cells(segments._repr_html_()) == ["Segments of 3 ids: the first of each segment", "0", "1", "1", "113 114"]


@pytest.mark.parametrize("call", [np.asarray, np.array, lambda batch: np.asarray(batch, dtype=int)])
def test_a_ragged_is_no_array(call: Callable[[slmtok.Ragged], object]) -> None:
    batch = slmtok.train(slmtok.Texts(["a"]), scheme="byte", vocab_size=272).encode_batch(["a", "bc"])
    with pytest.raises(WrongType, match="does not become a numpy array") as caught:
        call(batch)
    assert "ragged.pad" in str(caught.value.fix)
