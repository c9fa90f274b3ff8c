"""The encodings of OpenAI's models by name, as tiktoken 0.14.0 knows them: a name, or the beginning of one."""

from __future__ import annotations

from slmtok.errors import UnknownName, value_text
from slmtok.model_encodings import MODEL_PREFIX_TO_ENCODING, MODEL_TO_ENCODING, encoding_meant, encoding_of_model

__all__ = ["MODEL_PREFIX_TO_ENCODING", "MODEL_TO_ENCODING", "encoding_name_for_model"]


class UnknownModel(UnknownName, KeyError):  # noqa: N818
    """A model that the tables do not have; a `KeyError`, as in tiktoken."""


def encoding_name_for_model(model_name: str) -> str:
    """The name of a model's encoding. Raises `UnknownModel`."""
    name = model_name if isinstance(model_name, str) else value_text(model_name)
    found = encoding_of_model(name)
    if found is None:
        meant = encoding_meant(name)
        raise UnknownModel(
            f"the encoding of the model {value_text(model_name)} is not known",
            limit=f"beginnings of names: {', '.join(MODEL_PREFIX_TO_ENCODING)}",
            fix=f"get_encoding({meant!r})" if meant else "name the encoding: get_encoding('o200k_base'), for instance",
            name=model_name,
        )
    return found
