"""Export to tiktoken: a rank file, a side file with pattern and special tokens, and a plugin.

With the folder on `PYTHONPATH`, `tiktoken.get_encoding(name)` finds the plugin. tiktoken drops text that its pattern
does not match, so a pattern with gaps is refused. It merges any two neighbours that spell a token, so our merges must
follow from the tokens alone; that is checked for all tokens before anything is written.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok.errors import Inexpressible, InvalidRanks, Setting
from slmtok.formats.base import Encode, Target, module
from slmtok.formats.tiktoken import write_ranks

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer

_WHERE = "export to tiktoken"
_PLUGIN = '''"""The encoding {name} for tiktoken, exported by slmtok.

With the folder above this one on PYTHONPATH: tiktoken.get_encoding({name!r})
"""

import base64
import hashlib
import json
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent


def encoding():
    content = json.loads((FOLDER / {side!r}).read_text(encoding="utf-8"))
    data = (FOLDER / content["ranks"]).read_bytes()
    if hashlib.sha256(data).hexdigest() != content["ranks_sha256"]:
        raise ValueError("the rank file is not the one that was exported")
    lines = (line.split() for line in data.splitlines())
    return {{
        "name": content["name"],
        "pat_str": content["pat_str"],
        "mergeable_ranks": {{base64.b64decode(token): int(rank) for token, rank in lines}},
        "special_tokens": content["special_tokens"],
        "explicit_n_vocab": content["explicit_n_vocab"],
    }}


ENCODING_CONSTRUCTORS = {{{name!r}: encoding}}
'''


def check(tokenizer: Tokenizer) -> None:
    """Raises `Inexpressible` for what a rank file and a pattern cannot express."""
    if tokenizer.scheme == "word":
        raise Inexpressible(
            "scheme word spells a word that it does not know in bytes, tiktoken in the tokens within it",
            where=_WHERE,
            limit="schemes bpe, char, byte",
            fix="slmtok export --output-format hf, which can say it; or scheme bpe",
        )
    for index, merge in enumerate(tokenizer.vocabulary.merges):
        if len(merge) == 3:
            raise Inexpressible(
                f"merge {index} spells the special {tokenizer.specials.tokens[merge[2]].text!r} and is never given out",
                where=_WHERE,
                limit="every merge makes an id of its own",
                fix=("train with ", Setting("tie_break", "rank")),
                index=index,
            )
    _check_gaps(tokenizer)
    if tokenizer.scheme == "bpe":
        _check_ranks(tokenizer)


def _check_gaps(tokenizer: Tokenizer) -> None:
    """Refuses a pattern that does not match all text."""
    from slmtok.formats import verification
    from slmtok.patterns import compile_pattern

    pattern = compile_pattern(tokenizer.pattern)
    if pattern.name is not None:
        return
    size = lost = 0
    first: str | None = None
    for text in (*verification.stories(50_000), *verification.code_points(verification.FULL.code_points)):
        data = text.encode()
        missed = pattern.gaps(data)[1]
        if missed and first is None:
            at = next(end for end in range(1, len(text) + 1) if pattern.gaps(text[:end].encode())[1])
            first = text[at - 1]
        size, lost = size + len(data), lost + missed
    if lost:
        raise Inexpressible(
            f"the pattern does not match {lost / size:.1%} of the sample (first: {first!r}); tiktoken would delete it",
            where=_WHERE,
            limit="a pattern that covers all text",
            fix="train again with a pattern that does (slm, gpt2, cl100k, o200k), or with '|(?s:.)' appended to yours",
        )


def _check_ranks(tokenizer: Tokenizer) -> None:
    """Refuses merges that do not follow from the tokens and their order; names the first."""
    if tokenizer.vocabulary.layout == "foreign":
        return
    import numpy as np

    from slmtok._engine import Encoder
    from slmtok.patterns import compile_pattern

    ids = dict(tokenizer.vocabulary.items())
    pattern = compile_pattern(tokenizer.pattern)
    token: object = None
    try:
        ranked = Encoder.from_ranks(pattern, list(ids.values()), np.array(list(ids), dtype=np.uint32))
        differing = [id for id in ids if ranked.parts(id) != tokenizer._encoder.parts(id)]
        if not differing:
            return
        token = ids[differing[0]]
    except InvalidRanks as error:
        token = error.fields.get("token")
    raise Inexpressible(
        f"the token {token!r} is not merged from the two tokens that tiktoken would merge it from",
        where=_WHERE,
        limit="there two neighbours merge whenever they spell a token, the earliest first",
        fix=("slmtok export --output-format hf, which can say it; or train without ", Setting("require")),
    )


def files(tokenizer: Tokenizer, name: str) -> dict[str, bytes]:
    """The files of the export."""
    ranks = {token: id for id, token in tokenizer.vocabulary.items()}
    specials = tokenizer.specials.completed().spellings
    data = write_ranks(ranks)
    whole = len(ranks) + len(specials) == tokenizer.n_vocab
    side = {
        "name": name,
        "pat_str": tokenizer.pattern.regex,
        "special_tokens": specials,
        "explicit_n_vocab": tokenizer.n_vocab if whole else None,
        "ranks": f"{name}.tiktoken",
        "ranks_sha256": hashlib.sha256(data).hexdigest(),
        "fingerprint": tokenizer.fingerprint,
    }
    return {
        f"{name}.tiktoken": data,
        f"{name}.json": (json.dumps(side, ensure_ascii=False, indent=2) + "\n").encode(),
        f"tiktoken_ext/{_module(name)}.py": _PLUGIN.format(name=name, side=f"{name}.json").encode(),
    }


def _module(name: str) -> str:
    return re.sub(r"\W", "_", f"slmtok_{name}")


def open_export(folder: Path, name: str) -> Encode:
    """Encodes with the export in tiktoken through its plugin, special tokens treated as text."""
    tiktoken = module("tiktoken")
    constructor: Any = _plugin(folder / "tiktoken_ext" / f"{_module(name)}.py").ENCODING_CONSTRUCTORS[name]
    encoding = tiktoken.Encoding(**constructor())

    def encode(texts: list[str]) -> list[list[int]]:
        return [encoding.encode_ordinary(text) for text in texts]

    return encode


def _plugin(path: Path) -> Any:
    """The module of a plugin, executed from its file without writing bytecode."""
    from importlib.machinery import SourceFileLoader
    from importlib.util import module_from_spec, spec_from_loader

    class Loader(SourceFileLoader):
        def set_data(self, path: str, data: Any, *, _mode: int = 0o666) -> None:
            """Writes no bytecode."""

    loader = Loader(path.stem, str(path))
    spec = spec_from_loader(path.stem, loader)
    if spec is None:
        raise ImportError(f"no plugin in {path}")
    found = module_from_spec(spec)
    loader.exec_module(found)
    return found


TIKTOKEN = Target(
    "tiktoken",
    "rank file, side file and plugin, for tiktoken.get_encoding",
    library="tiktoken",
    check=check,
    files=files,
    open=open_export,
    notes=("encode_ordinary was compared; encode refuses text that spells a special token",),
)
