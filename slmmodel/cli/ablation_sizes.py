"""The sizes of `slm ablate --vocabs`: each arm is a slice, which has at most the ids of the tokenizer that is cut."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from slmmodel.cli.run_argument import without
from slmmodel.errors import OptionError
from slmtok.cli.options import arguments_of_command
from slmtok.files import free_name
from slmtok.specials import FIRST_LEARNED, N_SPECIALS

if TYPE_CHECKING:
    from slmtok import Tokenizer


def check_sizes(sizes: list[int]) -> list[int]:
    """The sizes of the arms. Raises `OptionError` for one without room for the specials and the bytes."""
    if (least := min(sizes)) < FIRST_LEARNED:
        enough = list(dict.fromkeys(max(size, FIRST_LEARNED) for size in sizes))
        enough += [2 * FIRST_LEARNED] if len(enough) < 2 else []
        raise OptionError(
            f"--vocabs {','.join(map(str, sizes))}: no tokenizer has {least} ids",
            where="slm ablate",
            limit=f"{FIRST_LEARNED} = {N_SPECIALS} specials + 256 bytes",
            fix=f"--vocabs {','.join(map(str, enough))}",
            option="vocabs",
        )
    return sizes


def check_parts(whole: Tokenizer, file: str, largest: int, corpus: Sequence[str]) -> None:
    """Raises `OptionError` where the tokenizer of -t cannot be cut to the largest size.

    corpus: the text of the arms and the options by which it is read, of which a larger tokenizer is learned.
    """
    words = without(("-t", "--tokenizer"), arguments_of_command())
    if whole.vocabulary.layout == "foreign":
        trained = shlex.join(["slm", "ablate", *words])
        raise OptionError(
            f"{file} is a tokenizer of another library, which keeps its ids",
            where="--vocabs, whose arms are slices of it",
            limit="tokenizers that slmtok trained",
            fix=f"{trained} # without -t {file}: the arms are slices of one that is trained",
            option="vocabs",
        )
    if largest > whole.n_vocab:
        larger = free_name(f"{Path(file).stem}-{largest}.json")
        learned = shlex.join(["slmtok", "extend", file, *corpus, "--vocab", str(largest), "-o", larger])
        raise OptionError(
            f"a tokenizer of {whole.n_vocab} ids cannot be cut to {largest}",
            where=f"--vocabs, whose arms are slices of {file}",
            limit=f"{FIRST_LEARNED} to {whole.n_vocab}",
            fix=f"{learned} && {shlex.join(['slm', 'ablate', *words, '-t', larger])}",
            option="vocabs",
        )
