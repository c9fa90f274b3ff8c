"""`save_pretrained`: files that `transformers` loads, ids verified equal, and the settings in their config."""

from __future__ import annotations

from pathlib import Path

import pytest
from shared_data import peer, tiktoken_cache

import slmtok
from slmtok.compat import as_hf

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]

TEXTS = ["Once upon a time <s> there was a fox.", "", "Größe 今天天气很好 👩‍👧!"]


def test_settings_are_saved(bpe400: slmtok.Tokenizer, tmp_path: Path) -> None:
    transformers = peer("transformers")
    hf = as_hf(bpe400, add_eos=True, padding_side="left", truncation_side="left", model_max_length=9, pad="eos")
    paths = hf.save_pretrained(tmp_path)
    assert sorted(path.name for path in map(Path, paths)) == ["tokenizer.json", "tokenizer_config.json"]
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    for options in ({}, {"padding": True, "truncation": True}, {"add_special_tokens": False}):
        assert dict(theirs(TEXTS, **options)) == dict(hf(TEXTS, **options)), options
    assert (theirs.padding_side, theirs.truncation_side, theirs.model_max_length) == ("left", "left", 9)
    assert theirs.pad_token_id == hf.pad_token_id == 2
    (tmp_path / "config.json").write_text("{}")
    hf.save_pretrained(tmp_path)
    assert (tmp_path / "config.json").read_text() == "{}", "other files stay"


@pytest.mark.shared
def test_a_foreign_table(tmp_path: Path) -> None:
    transformers = peer("transformers")
    tiktoken_cache()
    hf = as_hf(slmtok.from_tiktoken("gpt2"), pad="eos")
    hf.save_pretrained(tmp_path, verify=False)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert (hf.bos_token_id, hf.eos_token_id, hf.num_special_tokens_to_add()) == (None, 50256, 0)
    for options in ({}, {"padding": True}, {"truncation": True, "max_length": 4, "return_overflowing_tokens": True}):
        assert dict(theirs(TEXTS, **options)) == dict(hf(TEXTS, **options)), options
    assert theirs.decode(hf.encode(TEXTS[2])) == hf.decode(hf.encode(TEXTS[2])) == TEXTS[2]
    assert hf("a", add_eos=True).input_ids[-1] == 50256
