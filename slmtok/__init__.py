"""slmtok: exact, fast byte-level BPE tokenizers for small language models.

    import slmtok
    tok = slmtok.train("corpus.txt", vocab_size=8192)
    ids = tok.encode("Once upon a time")
    tok.decode(ids)

Names are imported when they are first used, so `import slmtok` alone costs next to nothing.
"""

from __future__ import annotations

import sys

from slmtok.imports_before_fork import finish_imports_before_fork

# As in `typing`, which the programs import only after they hear Ctrl-C.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from slmtok._engine import VERSION as __version__  # noqa: N811  (the name that Python expects)
    from slmtok.errors import SlmtokError
    from slmtok.formats.tiktoken import from_tiktoken
    from slmtok.opening import load
    from slmtok.pages import View, view
    from slmtok.ragged import Ragged
    from slmtok.segments import Segments, Special, Trusted
    from slmtok.shards import pack
    from slmtok.tokenizer import Tokenizer
    from slmtok.training import PretokenCounts, Texts, count, merge_counts, train
    from slmtok.training.surgery import extend, prune, slice
    from slmtok.vocabulary import Vocabulary

__all__ = [
    "PretokenCounts",
    "Ragged",
    "Segments",
    "SlmtokError",
    "Special",
    "Texts",
    "Tokenizer",
    "Trusted",
    "View",
    "Vocabulary",
    "__version__",
    "count",
    "extend",
    "from_tiktoken",
    "load",
    "merge_counts",
    "pack",
    "prune",
    "slice",
    "train",
    "view",
]

_MODULES = {
    "PretokenCounts": "slmtok.training",
    "Ragged": "slmtok.ragged",
    "Segments": "slmtok.segments",
    "SlmtokError": "slmtok.errors",
    "Special": "slmtok.segments",
    "Texts": "slmtok.training",
    "Tokenizer": "slmtok.tokenizer",
    "Trusted": "slmtok.segments",
    "View": "slmtok.pages",
    "Vocabulary": "slmtok.vocabulary",
    "count": "slmtok.training",
    "extend": "slmtok.training.surgery",
    "from_tiktoken": "slmtok.formats.tiktoken",
    "load": "slmtok.opening",
    "merge_counts": "slmtok.training",
    "pack": "slmtok.shards",
    "prune": "slmtok.training.surgery",
    "slice": "slmtok.training.surgery",
    "train": "slmtok.training",
    "view": "slmtok.pages",
}


finish_imports_before_fork("slmtok", "pyarrow")


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name == "__version__":
        return import_module("slmtok._engine").VERSION
    if name not in _MODULES:
        if not name.startswith("_") and import_module("importlib.util").find_spec(f"slmtok.{name}"):
            # `slmtok.compat.as_hf` works without an import of its own.
            return import_module(f"slmtok.{name}")
        # Not for private names: modules that are being imported ask for those.
        if not name.startswith("_") and (fix := import_module("slmtok.compat").meant_in_package(name)):
            # Of an `AttributeError`, `from slmtok import ...` would show no message.
            is_import = sys._getframe(1).f_globals.get("__name__") == "importlib._bootstrap"
            fix = import_module("slmtok.given_values").explained(fix)
            fix = import_module("slmtok.placeholders").explain_placeholders(fix, "", ())
            raise (ImportError if is_import else AttributeError)(f"slmtok has no {name!r}\n  fix:   {fix}")
        hint = "; slmtok.load(path) gives a Tokenizer, slmtok.compat has the names of other libraries"
        raise AttributeError(
            f"module 'slmtok' has no attribute {name!r}{'' if name.startswith('_') else hint}",
            name=name,
            obj=import_module(__name__),
        )
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    # Without modules that were imported meanwhile, one of which Python may suggest for the name of another library.
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__, "compat"})
