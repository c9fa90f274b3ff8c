"""Names for files of other libraries that are not read, each with the remedy. Decided by name and first bytes."""

from __future__ import annotations

import json
import re
import shlex
from itertools import product
from pathlib import Path
from typing import NamedTuple

from slmtok.file_content import GIT_LFS_POINTER, HEAD_BYTES, SENTENCEPIECE, content_of, is_text
from slmtok.file_kinds import NAMES, kind_of
from slmtok.files import free_name, read_limited
from slmtok.id_arrays import ID_MAP_SUFFIX
from slmtok.path_arguments import hub_fetch

TRAIN_OWN = "slmtok.train('CORPUS', vocab_size=8192, allow_smaller=True).save('{tok.json}')"
"""In a fix, as `with_names` gives it; commands replace it by a command with the files that they were given."""
TRAIN_OWN_CALL = re.compile(re.escape(TRAIN_OWN).replace(re.escape("{tok.json}"), "[^']+"))
READ_PAIR = "from slmtok.compat.tokenizers import ByteLevelBPETokenizer as B; "
"""Begins the code of `pair_code` in a fix; commands replace it by a command with their output."""
_SETTINGS = (
    *("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "config.json"),
    *("generation_config.json", "preprocessor_config.json"),
)
_HINTS = ("tokenizer.model", "vocab.json", "vocab.txt", "merges.txt", "tokenizer_config.json")
"""Files of a folder that say what its tokenizer is, the first one found decides."""
_PAIRS = (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe"))
"""Files with the tokens and the merges of one tokenizer."""
VOCABULARY = "the vocabulary of a Hugging Face tokenizer, whose merges are another file"
MERGES = "the merges of a Hugging Face tokenizer, whose vocabulary is another file"
_EXPANDED = re.compile(r'[$`!"\\]')
"""What a shell does not keep in double quotes."""
_SENTENCEPIECE_LIST = re.compile(rb"(<unk>|<pad>|<s>)\t-?[0-9.]+\r?\n")
"""The first line of the list beside a SentencePiece model: a piece and its score."""
_MINBPE = b"minbpe v1"
_MERGES = re.compile(rb"(\S+ \S+\r?\n){3}")
_WORDPIECE = re.compile(rb"\[PAD\]\r?\n|\[UNK\]\r?\n")


def train_own(output: str = "tok.json") -> str:
    """The call that trains a tokenizer, into a file of this name, or one like it that does not exist."""
    return TRAIN_OWN.replace("'{tok.json}'", repr(free_name(output)))


def _not_supported() -> str:
    return f"slmtok reads byte-level BPE alone; train a tokenizer of your own: {train_own()}"


class ForeignFile(NamedTuple):
    """What a file is, and what to name instead."""

    name: str
    fix: str


def foreign_file(path: str, data: bytes) -> ForeignFile | None:
    """What a file with this content is; None for a `tokenizer.json`, a file of slmtok, and text of no known kind."""
    name, begin = Path(path).name, data.lstrip()[:1]
    if not data.strip():
        return ForeignFile("empty", "name another file, or fetch it again")
    if data.startswith(_MINBPE):
        return ForeignFile("a model of minbpe", f"train a tokenizer on the same text: {train_own()}")
    content = content_of(data[:HEAD_BYTES])
    if content is SENTENCEPIECE or (name.endswith(".model") and not is_text(data[:HEAD_BYTES]) and begin != b"{"):
        return ForeignFile(SENTENCEPIECE.name, _not_supported())
    if _SENTENCEPIECE_LIST.match(data):
        return ForeignFile("the vocabulary of a SentencePiece model", _not_supported())
    if _WORDPIECE.match(data):
        return ForeignFile("the vocabulary of a WordPiece tokenizer", _not_supported())
    if name in _SETTINGS and begin == b"{" and kind_of(data) not in NAMES:
        return ForeignFile("settings of Hugging Face", _tokenizer_json(path))
    if begin == b"{" and _is_vocabulary(name, data):
        return ForeignFile(VOCABULARY, _tokenizer_json(path))
    if data.startswith(b"#version:") or (name in ("merges.txt", "vocab.bpe") and _MERGES.match(data)):
        return ForeignFile(MERGES, _tokenizer_json(path))
    if content is None:
        return None
    if content is GIT_LFS_POINTER:
        return ForeignFile(content.name, str(content.read_by))
    # The map of ids of a tokenizer has its name.
    owner = Path(path).name.removesuffix(ID_MAP_SUFFIX)
    names = dict.fromkeys((*[owner] * (owner != Path(path).name), "tok.json", "tokenizer.json"))
    beside = next((each for each in map(Path(path).with_name, names) if each.is_file()), None)
    fix = (
        f"name the tokenizer file beside it: {beside}" if beside else "name a tokenizer file, as slmtok train writes it"
    )
    return ForeignFile(content.name, fix)


def n_ids_in(path: str) -> int | None:
    """The number of ids of another library's tokenizer; None where its file does not list them."""
    data = read_limited(path, "tokenizer.json")
    if _WORDPIECE.match(data):
        return len(data.splitlines())
    try:
        document = json.loads(data)
        vocab = document["model"]["vocab"]
        # The vocabulary of a Unigram model is a list of pieces with scores.
        tokens = {each[0] for each in vocab} if isinstance(vocab, list) else {*vocab}
        return len(tokens | {each["content"] for each in document.get("added_tokens") or ()})
    except (ValueError, RecursionError, TypeError, LookupError, AttributeError):
        return None


def hint_in(folder: Path) -> str | None:
    """The remedy for a folder without a tokenizer that slmtok reads, by the other files in it."""
    if ranks := sorted(folder.glob("*.tiktoken")):
        return f"name the rank file: {ranks[0]}"
    for name in _HINTS:
        path = folder / name
        if path.is_file() and (foreign := foreign_file(str(path), read_limited(path, "tokenizer.json"))):
            return f"{path} is {foreign.name}; {foreign.fix}"
    return None


def _is_vocabulary(name: str, data: bytes) -> bool:
    """Whether a file is one JSON object from tokens to ids: by its name, else all ids from 0 up."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return False
    if not isinstance(found, dict) or not found or not all(type(id) is int for id in found.values()):
        return False
    return name in ("vocab.json", "encoder.json") or (
        len(found) >= 256 and set(found.values()) == set(range(len(found)))
    )


def _tokenizer_json(path: str) -> str:
    """The remedy that names the tokenizer.json beside a file, or the way to one."""
    beside = Path(path).with_name("tokenizer.json")
    if beside.is_file():
        return f"name the tokenizer file beside it: {shlex.quote(str(beside))}"
    for pair, begin in product(_PAIRS, _beginnings(Path(path).name)):
        vocab, merges = (str(beside.with_name(begin + name)) for name in pair)
        if Path(vocab).is_file() and Path(merges).is_file():
            # `-t` with the folder finds tok.json as well.
            names = (beside.with_name(name) for name in ("tok.json", f"{begin}slmtok.json"))
            return pair_code(vocab, merges, str(next((each for each in names if not each.exists()), "new.json")))
    fetch, name = hub_fetch("MODEL")
    return f"name the tokenizer.json of the same model: {fetch}" + f" # and name {name}" * (name != "tokenizer.json")


def _beginnings(name: str) -> list[str]:
    """What may stand before the names of `_PAIRS`: `gpt2-` for gpt2-merges.txt."""
    return ["", *(name.removesuffix(end) for pair in _PAIRS for end in pair if name.endswith(end) and name != end)]


def pair_code(vocab: str, merges: str, output: str) -> str:
    """The Python code that makes a tokenizer file of a vocabulary and its merges; one that exists stays."""
    return f"{READ_PAIR}B.from_file({vocab!r}, {merges!r}).tokenizer.save({output!r})"


def pair_command(code: str) -> str:
    """The command that runs such code."""
    # In double quotes, as Python writes names in single ones.
    return f'python -c "{code}"' if not _EXPANDED.search(code) else f"python -c {shlex.quote(code)}"
