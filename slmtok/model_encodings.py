"""Which public encoding each of OpenAI's models has, as tiktoken 0.14.0 knows them: a name, or the beginning of one."""

from __future__ import annotations

import re

_MODELS = {
    "o200k_base": "gpt-5 gpt-4.1 gpt-4o o1 o3 o4-mini",
    "cl100k_base": (
        "gpt-4 gpt-3.5-turbo gpt-3.5 gpt-35-turbo davinci-002 babbage-002 text-embedding-ada-002 "
        "text-embedding-3-small text-embedding-3-large"
    ),
    "p50k_base": (
        "text-davinci-003 text-davinci-002 code-davinci-002 code-davinci-001 code-cushman-002 code-cushman-001 "
        "davinci-codex cushman-codex"
    ),
    "p50k_edit": "text-davinci-edit-001 code-davinci-edit-001",
    "r50k_base": (
        "davinci curie babbage ada text-davinci-001 text-curie-001 text-babbage-001 text-ada-001 "
        "text-similarity-davinci-001 text-similarity-curie-001 text-similarity-babbage-001 text-similarity-ada-001 "
        "text-search-davinci-doc-001 text-search-curie-doc-001 text-search-babbage-doc-001 text-search-ada-doc-001 "
        "code-search-babbage-code-001 code-search-ada-code-001"
    ),
    "gpt2": "gpt2 gpt-2",
}
_PREFIXES = {
    "o200k_base": "gpt-5 gpt-4.5- gpt-4.1- chatgpt-4o- gpt-4o- o1- o3- o4-mini- ft:gpt-4o",
    "o200k_harmony": "gpt-oss-",
    "cl100k_base": "gpt-4- gpt-3.5-turbo- gpt-35-turbo- ft:gpt-4 ft:gpt-3.5-turbo ft:davinci-002 ft:babbage-002",
}
MODEL_TO_ENCODING = {model: name for name, models in _MODELS.items() for model in models.split()}
MODEL_PREFIX_TO_ENCODING = {prefix: name for name, prefixes in _PREFIXES.items() for prefix in prefixes.split()}


def encoding_of_model(name: str) -> str | None:
    """The name of a model's encoding; None for a model that the tables do not have."""
    prefix = next((prefix for prefix in MODEL_PREFIX_TO_ENCODING if name.startswith(prefix)), "")
    return MODEL_TO_ENCODING.get(name) or MODEL_PREFIX_TO_ENCODING.get(prefix)


def encoding_meant(name: str) -> str | None:
    """As `encoding_of_model`, for a name that lacks a hyphen or has capitals: `gpt4`, `GPT_4o`."""
    return encoding_of_model(re.sub(r"^gpt-?(?=\d)", "gpt-", name.lower().replace("_", "-").replace(" ", "-")))
