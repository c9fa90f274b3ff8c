"""Facts about tiktoken's public encodings: cache names, digests, patterns and specials.

A cache name is the sha1 of the address that tiktoken fetches the file from. `gpt2` and `r50k_base` have the same ids;
tiktoken keeps the former as two files of GPT-2's own making, of which the table of ids is enough.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from slmtok.token_text import unicode_to_bytes

END_OF_TEXT = "<|endoftext|>"


@dataclass(frozen=True)
class Encoding:
    """One public encoding. `json_key` and `json_sha256` belong to a second form of its ranks, where there is one."""

    name: str
    cache_key: str
    sha256: str
    pattern: str
    specials: Mapping[str, int]
    json_key: str | None = None
    json_sha256: str | None = None


_R50K = (
    "0ea1e91bbb3a60f729a8dc8f777fd2fc07cd8df4",
    "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
)
_P50K = (
    "ec7223a39ce59f226a68acc30dc1af2788490e15",
    "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
)
_CL100K = (
    "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
)
_O200K = (
    "fb374d419588a4632f3f557e76b4b70aebbca790",
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
)
_GPT2_JSON = (
    "6c7ea1a7e38e3a7f062df639a5b80947f075ffe6",
    "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
)
_FIM = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")


def _fim(first: int) -> dict[str, int]:
    return {text: first + index for index, text in enumerate(_FIM)}


ENCODINGS: dict[str, Encoding] = {
    encoding.name: encoding
    for encoding in (
        Encoding("gpt2", *_R50K, "gpt2", {END_OF_TEXT: 50256}, *_GPT2_JSON),
        Encoding("r50k_base", *_R50K, "gpt2", {END_OF_TEXT: 50256}),
        Encoding("p50k_base", *_P50K, "gpt2", {END_OF_TEXT: 50256}),
        Encoding("p50k_edit", *_P50K, "gpt2", {END_OF_TEXT: 50256, **_fim(50281)}),
        Encoding("cl100k_base", *_CL100K, "cl100k", {END_OF_TEXT: 100257, **_fim(100258), "<|endofprompt|>": 100276}),
        Encoding("o200k_base", *_O200K, "o200k", {END_OF_TEXT: 199999, "<|endofprompt|>": 200018}),
    )
}


_KNOWN_ROLES = {END_OF_TEXT: "eos", "<s>": "bos", "</s>": "eos"}


def roles_of(spellings: Mapping[str, int]) -> dict[str, str]:
    """Spelling to role, for foreign specials (spelling to id): what the spelling says, each role once.

    A role is no other special's spelling, so that a name stands for one id. Where two specials would have the same
    role, the later one's ends in its id.
    """
    roles: dict[str, str] = {}
    for text, id in sorted(spellings.items(), key=lambda item: (role_of(item[0]) != item[0], item[1])):
        role = role_of(text)
        taken = {*roles.values(), *(other for other in spellings if other != text)}
        if role in taken:
            role = f"{role}_{id}"
        while role in taken:
            role += "_"
        roles[text] = role
    return roles


def role_of(text: str) -> str:
    """The role that a spelling asks for: `bos` and `eos` where it is known for one, else the words in it."""
    if text in _KNOWN_ROLES:
        return _KNOWN_ROLES[text]
    role = re.sub(r"[^A-Za-z0-9_.-]+", "_", text).strip("_.-")
    return role if role[:1].isalpha() else f"special_{role or 'x' + text.encode('utf-8', 'surrogatepass').hex()}"


def gpt2_ranks(data: bytes) -> dict[bytes, int]:
    """Ranks from GPT-2's table of ids (JSON, bytes written as printable characters). Its ids are its ranks."""
    byte_of = unicode_to_bytes()
    table: dict[str, int] = json.loads(data)
    table.pop(END_OF_TEXT, None)
    return {bytes(byte_of[char] for char in token): id for token, id in table.items()}
