"""One invalid file for each refusal of docs/formats/tokenizer.md, made from a valid one."""

# The table of edits has one line a fault.
# ruff: noqa: E501

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from samples import samples

import slmtok
from slmtok import errors
from slmtok.files import MAX_FILE_BYTES
from slmtok.tokenizer_file import TAIL

SAMPLES = samples()


def seal(head: bytes) -> bytes:
    """A file whose digest is right, whatever it says."""
    return head + b'"sha256":"' + hashlib.sha256(head).hexdigest().encode() + b'"}\n'


def edited(name: str, old: str, new: str) -> bytes:
    """The sample with one change of text and a right sha256."""
    data = SAMPLES[name].to_bytes()
    assert old.encode() in data
    return seal(data[:-TAIL].replace(old.encode(), new.encode(), 1))


def refused(data: bytes, error: type[errors.SlmtokError], match: str) -> None:
    with pytest.raises(error, match=match) as caught:
        slmtok.Tokenizer.from_bytes(data, source="bad.json")
    assert "bad.json" in str(caught.value)


SOUND = SAMPLES["bpe"].to_bytes()
DAMAGED: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "empty"),
    "white space": (b" \n ", "empty"),
    "no json": (b"hello", "not JSON"),
    "list": (b"[]", "not JSON that begins"),
    "truncated": (SOUND[:300], "truncated"),
    "byte order mark": (b"\xef\xbb\xbf" + SOUND, "byte order mark"),
    "not utf-8": (SOUND.replace(b"<sep>", b"<\xff>"), "is not UTF-8"),
    "deep": (b'{"format":' + b"[" * 5000 + b"]" * 5000 + b"}", "nests more than 6 deep"),
    "deep mixed": (b'{"a":[{"a":[{"a":[{}]}]}]}', "nests more than 6 deep"),
    "nan": (SOUND.replace(b'"version":1', b'"version":NaN'), "NaN"),
    "float": (SOUND.replace(b'"version":1', b'"version":1.0'), r"1\.0"),
    "huge": (SOUND.replace(b'"version":1', b'"version":' + b"9" * 5000), "thousands of digits"),
    "key twice in an object of many": (
        b"{" + b",".join(b'"%d":0' % key for key in range(19_000)) + b',"9999":0}',
        "has the key '9999' twice",
    ),
    "key twice": (SOUND.replace(b'"version":1,', b'"version":1,\n"version":1,'), "has the key 'version' twice"),
    "hugging face": (b'{"version":"1.0","model":{"type":"BPE"}}', "Hugging Face tokenizer.json"),
    "tiktoken": (b"IQ== 0\nIg== 1\n", "tiktoken rank file"),
    "other format": (SOUND.replace(b"slmtok-tokenizer", b"slmtok-vocab"), "is a vocab.json of slmtok"),
    "no digest": (b'{"format":"slmtok-tokenizer","version":1,"behaviour":1,"scheme":"bpe"}', "sha256 is missing"),
    "changed": (SOUND.replace(b'"<s>"', b'"<S>"'), "changed after it was made"),
    "extended": (SOUND + b" ", "re-formatted or extended"),
    "re-formatted": (json.dumps(json.loads(SOUND), indent=1).encode(), "re-formatted"),
    "version as text": (SOUND.replace(b'"version":1', b'"version":"1"'), "version is '1'"),
}


@pytest.mark.parametrize("fault", DAMAGED)
def test_damaged(fault: str) -> None:
    data, match = DAMAGED[fault]
    refused(data, errors.CorruptFile, match)


EDITED: dict[str, tuple[str, str, str, type[errors.SlmtokError], str]] = {
    "version": ("bpe", '"version":1', '"version":2', errors.UnsupportedVersion, "has version 2"),
    "behaviour": ("bpe", '"behaviour":1', '"behaviour":7', errors.UnsupportedVersion, "has behaviour 7"),
    "scheme": ("bpe", '"scheme":"bpe"', '"scheme":"unigram"', errors.UnsupportedVersion, "'unigram'"),
    "scheme as a list": ("bpe", '"scheme":"bpe"', '"scheme":[]', errors.CorruptFile, "scheme is \\[\\], not a name"),
    "layout": ("bpe", '"layout":"own"', '"layout":"mine"', errors.CorruptFile, "layout is 'mine'"),
    "unknown key": ("bpe", '"options":', '"extra":1,\n"options":', errors.CorruptFile, "unknown key 'extra'"),
    "missing key": ("bpe", '"options":{},\n', "", errors.CorruptFile, "no 'options'"),
    "order of keys": ("bpe", '"version":1,\n"behaviour":1,', '"behaviour":1,\n"version":1,', errors.CorruptFile, "canonical"),
    "space": ("bpe", '"version":1', '"version": 1', errors.CorruptFile, "canonical"),
    "escape": ("bpe", '"<sep>"', '"\\u003csep>"', errors.CorruptFile, "canonical"),
    "fingerprint": ("bpe", '"fingerprint":"', '"fingerprint":"0', errors.CorruptFile, "fingerprint"),
    "part of later merge": ("bpe", "[272,117]", "[275,117]", errors.InvalidMerges, "merge 1 .* no earlier line"),
    "part is special": ("bpe", "[272,117]", "[2,117]", errors.InvalidMerges, "merge 1"),
    "merge twice": ("bpe", "[113,126]", "[132,120]", errors.InvalidMerges, "merge 2 .* as merge 0"),
    "negative": ("bpe", "[272,117]", "[-1,117]", errors.InvalidMerges, "merge 1"),
    "one part": ("bpe", "[272,117]", "[272]", errors.CorruptFile, "merge 1 .* two or three ids"),
    "true": ("bpe", "[272,117]", "[272,true]", errors.CorruptFile, "merge 1"),
    "text": ("bpe", "[272,117]", '[272,"117"]', errors.CorruptFile, "merge 1"),
    "third no special": ("hf-reuse", "[113,132,4]", "[113,132,99]", errors.InvalidMerges, "merge 1 .* third id"),
    "pattern name": ("bpe", '"name":"slm"', '"name":"slim"', errors.UnsupportedVersion, "'slim'"),
    "role twice": ("bpe", '"id":6,"role":null,"text":null', '"id":6,"role":"bos","text":"x"', errors.InvalidSpecials, "role 'bos'"),
    "spelling twice": ("bpe", '"</s>"', '"<s>"', errors.InvalidSpecials, "spelling '<s>'"),
    "no spelling": ("bpe", '"text":"</s>"', '"text":""', errors.InvalidSpecials, "cannot spell"),
    "moved role": ("bpe", '"role":"eos"', '"role":"end"', errors.InvalidSpecials, "special id 2 has the role 'end'"),
    "special id": ("bpe", '"id":15', '"id":16', errors.InvalidSpecials, "special ids are listed"),
    "no specials": ("bpe", '{"id":15,"role":null,"text":null}', '{"id":15,"role":null}', errors.CorruptFile, "special 15"),
    "special on token": ("foreign", '"id":257', '"id":256', errors.InvalidSpecials, "is the token b'th'"),
    "token twice": ("foreign", '"dGhl"', '"dGg="', errors.InvalidTokens, "repeats id 256"),
    "byte missing": ("foreign", '"AA=="', '"AAA="', errors.InvalidTokens, "0x00"),
    "not base64": ("foreign", '"dGhl"', '"d*hl"', errors.CorruptFile, "token 258 .* base64"),
    "loose base64": ("foreign", '"dGg="', '"dGh="', errors.CorruptFile, "plain form"),
    "short word": ("word", '"Y2F0"', '"YQ=="', errors.InvalidTokens, "token 1"),
    "word twice": ("word", '"Y2F0"', '"dGhl"', errors.InvalidTokens, "token 1 .* listed twice"),
    "word hole": ("word", '"Y2F0"', "null", errors.InvalidTokens, "token 1 None is a hole"),
    "byte scheme learns": ("byte", '"tokens":[\n]', '"tokens":[\n"dGhl"]', errors.CorruptFile, "learns no tokens"),
    "merges in words": ("word", '"tokens":[', '"merges":[', errors.CorruptFile, "no 'tokens'"),
    "provenance": ("bpe", '"documents":null', '"documents":-1', errors.CorruptFile, "provenance 'documents'"),
    "options": ("bpe", '"options":{}', '"options":{"a":{"b":1}}', errors.CorruptFile, "option 'a'"),
    "no golden": ("bpe", '{"bytes_b64":"","ids":[]}', '{"bytes_b64":"","id":[]}', errors.CorruptFile, "golden vector 0"),
    "golden ids": ("bpe", '"bytes_b64":"","ids":[]', '"bytes_b64":"","ids":[16]', errors.GoldenMismatch, "golden vector 0"),
}  # fmt: skip


@pytest.mark.parametrize("fault", EDITED)
def test_edited(fault: str) -> None:
    name, old, new, error, match = EDITED[fault]
    refused(edited(name, old, new), error, match)


def test_unicode_version_and_regex_are_binding() -> None:
    """Both are part of the fingerprint, so the crafted files carry the fingerprint that fits."""

    def resealed(change: Callable[[Any], Any]) -> bytes:
        from slmtok.tokenizer_file import TokenizerFile, parse_tokenizer_file
        from slmtok.vocabulary import Vocabulary

        content = parse_tokenizer_file(SOUND, "sound")
        old = content.vocabulary
        new = Vocabulary(old.scheme, change(old.pattern), old.specials, merges=old.merges)
        return TokenizerFile(new, content.golden, options=content.options, provenance=content.provenance).content

    from dataclasses import replace

    refused(resealed(lambda pattern: replace(pattern, unicode="9.0.0")), errors.UnsupportedVersion, "Unicode 9.0.0")
    refused(resealed(lambda pattern: replace(pattern, regex="[a-z]+")), errors.CorruptFile, "another regex")


def test_golden_vectors_alone_are_skipped_on_request() -> None:
    data = edited("bpe", '"bytes_b64":"","ids":[]', '"bytes_b64":"","ids":[16]')
    with pytest.raises(errors.GoldenMismatch, match="golden vector 0"):
        slmtok.Tokenizer.from_bytes(data)
    tok = slmtok.Tokenizer.from_bytes(data, verify=False)
    assert tok.encode_list("the") == [273]
    assert tok.to_bytes() == data


def test_a_newer_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "newer.json"
    path.write_bytes(edited("bpe", '"version":1', '"version":2'))
    with pytest.raises(errors.UnsupportedVersion, match=r"newer\.json has version 2") as caught:
        slmtok.load(path)
    assert caught.value.fix == "install a newer slmtok"


def test_every_truncation_is_refused() -> None:
    for length in range(0, len(SOUND), 7):
        with pytest.raises(errors.CorruptFile):
            slmtok.Tokenizer.from_bytes(SOUND[:length], source="cut.json")


def test_every_flipped_byte_is_refused() -> None:
    for at in range(0, len(SOUND), 5):
        data = bytearray(SOUND)
        data[at] ^= 1
        with pytest.raises(errors.SlmtokError):
            slmtok.Tokenizer.from_bytes(bytes(data), source="flipped.json")


def test_size_limit_comes_before_parsing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MAX_FILE_BYTES, "tokenizer file", 1 << 20)
    path = tmp_path / "big.json"
    with path.open("wb") as file:
        file.truncate((1 << 20) + 10)
    with pytest.raises(errors.CorruptFile, match="too large for a tokenizer file"):
        slmtok.load(path)


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(errors.MissingInput, match=r"no\.json"):
        slmtok.load(tmp_path / "no.json")
    with pytest.raises(errors.MissingInput, match="holds no tokenizer"):
        slmtok.load(tmp_path)
    assert not list(tmp_path.iterdir())
