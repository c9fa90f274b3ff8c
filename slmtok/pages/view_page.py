"""The page of `slmtok view`: one HTML file that tokenizes in the browser, without a network or a server."""

from __future__ import annotations

import os
from collections.abc import Mapping

from slmtok.calls import Expression, argument_text, call_text, explains_calls, warn_of_file_names
from slmtok.errors import OptionError, Setting, WrongType
from slmtok.indexing import explains_indexing
from slmtok.pages.frame import Page, asset, examples, frame, pack
from slmtok.pages.page_data import page_data
from slmtok.tokenizer import Tokenizer

MAX_TEXT_BYTES = 1 << 20
"""A page draws every change while one types; more text belongs to `slmtok eval`."""
MAX_TOKENIZER_BYTES = 4 << 20
"""What one tokenizer may take of the file, compressed and in base64."""


@explains_indexing
class View(Page):
    """A page that shows how tokenizers cut a text. A notebook draws it in place."""


@explains_calls
def view(tokenizers: Tokenizer | Mapping[str, Tokenizer], text: str | None = None) -> View:
    """A page with an input box that shows the tokens of what one types, side by side for several tokenizers.

    tokenizers: one, or several by name. text: what the box holds at first. The page is one file that asks no network;
    equal arguments give equal bytes with one version of zlib.

    Raises `WrongType`, `OptionError` for a text beyond 1 MiB or a tokenizer that takes more than 4 MiB of the page,
    `InvalidPattern` for a tokenizer whose pattern no browser can run.
    """
    named = {"tokenizer": tokenizers} if isinstance(tokenizers, Tokenizer) else tokenizers
    if not isinstance(named, Mapping) or not all(isinstance(each, Tokenizer) for each in named.values()) or not named:
        raise _not_tokenizers(tokenizers, text)
    if isinstance(text, Tokenizer):
        named_each = "slmtok.view({'a': a, 'b': b})  # a and b are the two tokenizers"
        fact = "view takes several tokenizers as a dict of them"
        raise WrongType(fact, limit="view(tokenizers, text=)", fix=named_each)
    if text is not None:
        _check_size(text)
        opened = Expression(f"open({text!r}, encoding='utf-8').read()")
        first = Expression(argument_text(tokenizers, "tokenizers"))
        warn_of_file_names([text], lambda: call_text("slmtok.view", [first, opened], {}))
    data = {
        "text": text,
        "examples": examples(),
        "tokenizers": [_checked(page_data(each, name), name) for name, each in named.items()],
    }
    title = "How tokenizers cut a text"
    return View(frame(title, asset("view.html"), scripts=("tokenizer.js", "tokens.js", "view.js"), data=data), title)


def _not_tokenizers(tokenizers: object, text: object) -> WrongType:
    """The error for what is neither a tokenizer nor a dict of them, with the call that keeps the text."""
    fact = f"view takes a Tokenizer, or a dict of them, not {type(tokenizers).__name__}"
    if isinstance(tokenizers, Mapping) and tokenizers:
        wrong = next(name for name, each in tokenizers.items() if not isinstance(each, Tokenizer))
        return WrongType(
            f"{wrong!r} is {type(tokenizers[wrong]).__name__}, not a Tokenizer", fix=_opened(tokenizers, text)
        )
    if isinstance(tokenizers, str) and isinstance(text, Tokenizer):
        return WrongType(fact, fix=call_text("slmtok.view", [text, tokenizers], {}))
    meant = '{"mine": tok, "gpt2": slmtok.from_tiktoken("gpt2")}'
    if isinstance(tokenizers, (list, tuple)) and tokenizers and all(isinstance(each, Tokenizer) for each in tokenizers):
        meant = "{str(number): tok for number, tok in enumerate(tokenizers)}"
    if isinstance(tokenizers, str):
        meant = f"slmtok.load({tokenizers!r})"
    shown = [Expression(meant)] if text is None else [Expression(meant), Expression(argument_text(text, "text"))]
    return WrongType(fact, fix=call_text("slmtok.view", shown, {}))


def _opened(tokenizers: Mapping[str, object], text: object) -> str:
    """The call of `view` with the tokenizer at each path; words where a value is neither a path nor a tokenizer."""
    if not all(isinstance(each, (str, os.PathLike, Tokenizer)) for each in tokenizers.values()):
        return "a dict from names to tokenizers: slmtok.load(path) opens one"
    if sum(isinstance(each, Tokenizer) for each in tokenizers.values()) > 1:
        each = "slmtok.load(each) if isinstance(each, str) else each"
        return f"slmtok.view({{name: {each} for name, each in tokenizers.items()}})"
    shown = [
        f"{name!r}: {'tok' if isinstance(each, Tokenizer) else call_text('slmtok.load', [each], {})}"
        for name, each in tokenizers.items()
    ]
    given = [] if text is None else [text]
    return call_text("slmtok.view", [Expression(f"{{{', '.join(shown)}}}"), *given], {})


def _check_size(text: str) -> None:
    if not isinstance(text, str):
        fix = "pass text.decode()" if isinstance(text, (bytes, bytearray)) else 'slmtok.view(tok, "some text")'
        if isinstance(text, os.PathLike):
            fix = f"slmtok.view(tok, open({os.fspath(text)!r}, encoding='utf-8').read())"
        raise WrongType(f"the text of a page is a str, not {type(text).__name__}", fix=fix)
    n_bytes = len(text.encode("utf-8", "surrogatepass"))
    if n_bytes > MAX_TEXT_BYTES:
        raise OptionError(
            f"the text has {n_bytes:,} bytes or more",
            limit=f"{MAX_TEXT_BYTES:,} bytes on a page",
            fix="show a part of it; slmtok eval measures tokenizers on all of it",
            option="text",
        )


def _checked(data: dict[str, object], name: str) -> dict[str, object]:
    n_bytes = len(pack(data))
    if n_bytes > MAX_TOKENIZER_BYTES:
        raise OptionError(
            f"the tokenizer {name!r} takes {n_bytes:,} bytes of the page",
            limit=f"{MAX_TOKENIZER_BYTES:,} bytes a tokenizer",
            fix=("a smaller one, such as slmtok slice makes: ", Setting("vocab_size", 50000)),
            option="tokenizers",
        )
    return data
