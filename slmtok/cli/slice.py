"""`slmtok slice`: the first ids of a tokenizer as one of its own, which is what training to that size gives."""

from __future__ import annotations

import slmtok
from slmtok.cli import _options, _output, _surgery, _train_options
from slmtok.errors import InvalidOption


def slice(
    tokenizer: _options.TokenizerArgument,
    vocab: _train_options.Vocab = None,
    output: _surgery.MappedOutput = ...,  # type: ignore[assignment]
    force: _options.Force = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """Cut a tokenizer to a smaller size: the same as training to that size.

    slmtok slice tok.json --vocab 4096 -o small.json
    """
    import numpy as np

    from slmtok.cli._tokenizers import open_tokenizer

    if vocab is None:
        raise InvalidOption(
            "--vocab is missing",
            where="slmtok slice",
            fix="slmtok slice tok.json --vocab 4096 -o s.json",
            option="vocab",
        )
    _surgery.check(output, tokenizer, mapped=True, force=force)
    before = open_tokenizer(tokenizer)
    after = slmtok.slice(before, vocab)
    ids = np.arange(before.n_vocab, dtype=np.int64)
    digest = _surgery.write(after, output, np.where(ids < after.n_vocab, ids, -1), force=force)
    result = {**_surgery.result(before, after, output), "id_map": _surgery.map_beside(output), "id_map_sha256": digest}

    def show() -> None:
        if not quiet:
            _surgery.show(before, after, output, [("id map", _surgery.map_beside(output))])

    return _output.Outcome(result, show)
