"""What `tokenizer.json` cannot say is refused before anything is written."""

from __future__ import annotations

import pytest

import slmtok
from slmtok.errors import Inexpressible
from slmtok.formats import hf as hf_format


def test_a_merge_that_spells_a_special_is_refused() -> None:
    text = "<s> <s> <s> <s> and so on <s> <s>"
    tok = slmtok.train(slmtok.Texts([text]), 290, ties="hf", pattern="whole", allow_smaller=True)
    with pytest.raises(Inexpressible, match=r"never given out|spelled like"):
        hf_format.check(tok)


def test_a_token_with_the_name_of_a_special_is_refused(bpe400: slmtok.Tokenizer) -> None:
    hf_format.check(bpe400)
    assert bpe400.token_id(b"he") is not None
    with pytest.raises(Inexpressible, match="spelled like the name of an ordinary token") as caught:
        hf_format.check(bpe400.name("user", "he"))
    assert "slmtok name" in str(caught.value.fix)
