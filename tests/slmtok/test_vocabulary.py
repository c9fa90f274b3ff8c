"""Stable ids: specials, bytes, merges, holes of foreign tables, prefixes."""

import pytest

from slmtok.errors import InvalidMerges, InvalidSpecials, InvalidTokens, UnknownId, UnknownSpecial, VocabularyTooSmall
from slmtok.specials import SpecialId, Specials, SpecialToken, default_specials
from slmtok.vocabulary import PatternSpec, Vocabulary

PATTERN = PatternSpec("slm", "the regex", "16.0.0")


def bpe(*merges: tuple[int, ...], specials: Specials | None = None) -> Vocabulary:
    return Vocabulary("bpe", PATTERN, specials or default_specials(), merges=merges)


def test_fixed_ids() -> None:
    specials = default_specials()
    assert dict(specials) == {"unk": 0, "bos": 1, "eos": 2, "pad": 3, "sep": 4, "mask": 5}
    assert [specials.text(role) for role in specials] == ["<?>", "<s>", "</s>", "<>", "<sep>", "<mask>"]
    assert [int(slot) for slot in SpecialId] == [0, 1, 2, 3, 4, 5]
    assert len(specials.tokens) == 16


def test_bytes_then_merges() -> None:
    vocabulary = bpe((113, 114), (272, 115))
    assert vocabulary.n_vocab == 274
    assert vocabulary.padded_vocab == 320
    assert vocabulary.token_bytes(16) == b"\x00"
    assert vocabulary.token_bytes(271) == b"\xff"
    assert vocabulary.token_bytes(273) == b"abc"
    assert vocabulary.token_id(b"abc") == 273
    assert vocabulary.token_id(b"<s>") is None
    assert vocabulary.token_bytes(1) == b"<s>"
    assert vocabulary.byte_lengths.tolist() == [0] * 16 + [1] * 256 + [2, 3]
    assert not vocabulary.byte_lengths.flags.writeable


@pytest.mark.parametrize("id", [-1, 274, 1 << 40])
def test_unknown_id(id: int) -> None:
    with pytest.raises(UnknownId, match=str(id)):
        bpe((113, 114), (272, 115)).token_bytes(id)


def test_naming_keeps_the_fingerprint() -> None:
    plain = bpe((113, 114))
    named = plain.with_specials(plain.specials.named("user", "<|user|>").named("bos", "[BOS]"))
    assert named.fingerprint == plain.fingerprint
    assert named != plain
    assert named.specials["user"] == 6
    assert named.specials["bos"] == 1
    assert named.specials.find("[BOS]").role == "bos"
    assert named.specials.spellings["<|user|>"] == 6


def test_fingerprints_differ_where_ids_may() -> None:
    others = [
        bpe((113, 114)),
        bpe((113, 115)),
        bpe(),
        Vocabulary("byte", PATTERN, default_specials()),
        Vocabulary("word", PATTERN, default_specials(), tokens=(b"ab",)),
        Vocabulary("bpe", PatternSpec("slm", "another", "16.0.0"), default_specials(), merges=((113, 114),)),
        Vocabulary("bpe", PatternSpec("slm", "the regex", "17.0.0"), default_specials(), merges=((113, 114),)),
    ]
    assert len({vocabulary.fingerprint for vocabulary in others}) == len(others)


@pytest.mark.parametrize(
    ("role", "text", "match"),
    [
        ("user", "<s>", "spelling '<s>'"),
        ("user", "", "cannot spell"),
        ("user", "\ud800", "cannot spell"),
        ("", "x", "not a valid role"),
        ("a b", "x", "not a valid role"),
    ],
)
def test_bad_names(role: str, text: str, match: str) -> None:
    with pytest.raises(InvalidSpecials, match=match):
        default_specials({role: text})


def test_ten_reserved_ids() -> None:
    specials = default_specials({f"role{index}": f"<{index}>" for index in range(10)})
    assert specials["role9"] == 15
    with pytest.raises(InvalidSpecials, match="no reserved id is left"):
        specials.named("eleventh", "<11>")


def test_spellings_can_be_exchanged() -> None:
    specials = default_specials({"bos": "</s>", "eos": "<s>"})
    assert specials.spellings["<s>"] == 2


def test_unknown_role_lists_the_roles() -> None:
    with pytest.raises(UnknownSpecial, match="unk, bos, eos, pad, sep, mask") as caught:
        default_specials()["user"]
    assert isinstance(caught.value, KeyError)
    assert "user" not in default_specials()


@pytest.mark.parametrize(
    "merges", [((113, 272),), ((2, 113),), ((113, 114), (113, 114)), ((113, 114), (114, 115), (113, 273), (272, 115))]
)
def test_bad_merges(merges: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(InvalidMerges) as caught:
        bpe(*merges)
    assert caught.value.fields["index"] == len(merges) - 1


def test_foreign_holes_and_specials() -> None:
    tokens = (*(bytes([byte]) for byte in range(256)), None, b"ab")
    specials = Specials([SpecialToken(260, "eos", "<|endoftext|>")])
    vocabulary = Vocabulary("bpe", PATTERN, specials, tokens=tokens, layout="foreign")
    assert vocabulary.n_vocab == 261
    assert vocabulary.token_bytes(257) == b"ab"
    assert vocabulary.byte_lengths.tolist()[255:] == [1, 0, 2, 0, 0, 0]
    with pytest.raises(UnknownId, match="hole"):
        vocabulary.token_bytes(256)
    with pytest.raises(InvalidTokens, match="foreign"):
        vocabulary.slice(257)


def test_slice_is_a_prefix() -> None:
    whole = bpe((113, 114), (272, 115), (113, 115))
    assert whole.slice(273) == bpe((113, 114))
    assert whole.slice(275) == whole
    with pytest.raises(VocabularyTooSmall, match="272 = 16 specials"):
        whole.slice(271)
    with pytest.raises(InvalidTokens, match="cannot be cut"):
        whole.slice(276)


def test_slice_cuts_after_the_merge_that_made_the_last_id() -> None:
    whole = bpe((113, 114), (114, 115, 4), (4, 116), (113, 115))
    assert whole.n_vocab == 275
    assert whole.slice(273).merges == ((113, 114),)
    assert whole.slice(274).merges == ((113, 114), (114, 115, 4), (4, 116))
