"""Tokens by name, specials by role: the half of the façade that neither encodes nor decodes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from slmtok.errors import UnknownId, WrongType
from slmtok.formats.hf_names import bytes_of, names_by_id

if TYPE_CHECKING:
    from slmtok.compat.hf.settings import Settings
    from slmtok.tokenizer import Tokenizer

_ROLES = ("bos", "eos", "unk", "sep", "mask")
_STATE = "state that later calls depend on; padding=, truncation=, max_length= are arguments of the call"
_REFUSED = {
    "enable_padding": _STATE,
    "enable_truncation": _STATE,
    "no_padding": _STATE,
    "no_truncation": _STATE,
    "add_tokens": "a change of a live object; slmtok set-special tok.json user='<|user|>' names a reserved id",
    "add_special_tokens": "a change of a live object; slmtok set-special tok.json user='<|user|>' names a reserved id",
    "apply_chat_template": "a template language; tok.encode_segments([Special('user'), text]) builds a chat from parts",
}


class Names:
    """A tokenizer's vocabulary and specials under Hugging Face's names."""

    def __init__(self, tokenizer: Tokenizer, settings: Settings) -> None:
        self.__dict__["_tok"] = tokenizer
        self.__dict__["_settings"] = settings.checked(tokenizer.specials)

    _tok: Tokenizer
    _settings: Settings
    model_input_names = ("input_ids", "attention_mask")
    is_fast = True

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"{name} cannot be set: as_hf(tok, pad=…, padding_side=…, model_max_length=…) gives another"
        )

    def __getattr__(self, name: str) -> Any:
        if name in _REFUSED:
            raise AttributeError(f"{name} is not offered: it is {_REFUSED[name]}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._tok!r}, {self._settings})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Names):
            return NotImplemented
        return self._settings == other._settings and self._tok == other._tok

    def __hash__(self) -> int:
        return hash((self._tok, self._settings))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._tok, self._settings)

    # --- settings -----------------------------------------------------------------------------------------------------

    @property
    def model_max_length(self) -> int:
        """The length that truncation and padding to "max_length" take where a call names none."""
        return self._settings.model_max_length

    @property
    def padding_side(self) -> str:
        """Where rows are filled unless a call says otherwise."""
        return self._settings.padding_side

    @property
    def truncation_side(self) -> str:
        """Where rows are cut."""
        return self._settings.truncation_side

    @property
    def tokenizer(self) -> Tokenizer:
        """slmtok's own tokenizer behind this one."""
        return self._tok

    # --- vocabulary ---------------------------------------------------------------------------------------------------

    @cached_property
    def _names(self) -> dict[int, str]:
        return names_by_id(self._tok.vocabulary)

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {name: id for id, name in self._names.items()}

    @cached_property
    def _view(self) -> Any:
        """The tokenizer with a spelling for each reserved id, which is what decoding shows."""
        from slmtok.tokenizer import Tokenizer

        vocabulary = self._tok.vocabulary
        return Tokenizer(vocabulary.with_specials(vocabulary.specials.completed()))

    @property
    def vocab_size(self) -> int:
        """Largest id + 1."""
        return self._tok.n_vocab

    def __len__(self) -> int:
        return self._tok.n_vocab

    def get_vocab(self) -> dict[str, int]:
        """Name to id: ordinary tokens in GPT-2's characters, specials by their spelling."""
        return dict(self._ids)

    def get_vocab_size(self) -> int:
        """As `len`: the name that `tokenizers` has for it."""
        return self._tok.n_vocab

    def token_to_id(self, token: str) -> int | None:
        """The id of a name, None for what is no name: `tokenizers`' rule."""
        return self._ids.get(token)

    def id_to_token(self, id: int) -> str | None:
        """The name of an id, None for what is no id: `tokenizers`' rule."""
        return self._names.get(id)

    @overload
    def convert_ids_to_tokens(self, ids: int, skip_special_tokens: bool = ...) -> str: ...
    @overload
    def convert_ids_to_tokens(self, ids: Iterable[int], skip_special_tokens: bool = ...) -> list[str]: ...
    def convert_ids_to_tokens(self, ids: int | Iterable[int], skip_special_tokens: bool = False) -> str | list[str]:
        """The name of an id, or the names of many. Raises `UnknownId`."""
        if isinstance(ids, int):
            return self._name(ids)
        skipped = set(self.all_special_ids) if skip_special_tokens else set()
        return [self._name(int(id)) for id in ids if int(id) not in skipped]

    def convert_tokens_to_ids(self, tokens: str | Iterable[str]) -> Any:
        """The id of a name, or the ids of many; what is no name has the id of `<?>`, or None without one."""
        if isinstance(tokens, str):
            return self._ids.get(tokens, self.unk_token_id)
        return [self.convert_tokens_to_ids(token) for token in tokens]

    def convert_tokens_to_string(self, tokens: Iterable[str]) -> str:
        """The text that named tokens spell."""
        if isinstance(tokens, str):
            raise WrongType("tokens are a list of names, this is one str", fix="convert_tokens_to_string([name])")
        spelled = [(name, bytes_of(name)) for name in tokens]
        return b"".join(name.encode() if token is None else token for name, token in spelled).decode("utf-8", "replace")

    def _name(self, id: int) -> str:
        try:
            return self._names[id]
        except KeyError:
            raise UnknownId(
                f"id {id} is not in the vocabulary",
                limit=f"0 <= id < {self._tok.n_vocab} (n_vocab)",
                fix="use an id that the tokenizer gave",
                id=id,
            ) from None

    # --- specials -----------------------------------------------------------------------------------------------------

    def _special(self, role: str) -> tuple[int, str] | None:
        specials = self._tok.specials
        if role == "pad" and self._settings.pad != "pad":
            found = specials.find(self._settings.pad)
            return found.id, found.text or ""
        return (specials[role], specials.text(role)) if role in specials else None

    @property
    def special_tokens_map(self) -> dict[str, str]:
        """`bos_token` and so on to spelling."""
        found = {f"{role}_token": self._special(role) for role in (*_ROLES, "pad")}
        return {name: special[1] for name, special in found.items() if special is not None}

    @property
    def all_special_ids(self) -> list[int]:
        """The ids of all specials, reserved ones too."""
        return [token.id for token in self._tok.specials.tokens]

    @property
    def all_special_tokens(self) -> list[str]:
        """The spellings of all specials."""
        return [self._names[id] for id in self.all_special_ids]

    def num_special_tokens_to_add(self, pair: bool = False) -> int:
        """Ids that a call adds to a text, or to a pair."""
        each = ("bos" in self._tok.specials) + self._settings.add_eos
        return each * (1 + pair)

    def get_special_tokens_mask(self, token_ids: Iterable[int], already_has_special_tokens: bool = True) -> list[int]:
        """1 for each special id, 0 for each other."""
        specials = set(self.all_special_ids)
        return [int(int(id) in specials) for id in token_ids]


def _by_role(role: str) -> None:
    """Gives `Names` the properties `<role>_token` and `<role>_token_id`: None where there is no such special."""

    def text(self: Names) -> str | None:
        found = self._special(role)
        return None if found is None else found[1]

    def number(self: Names) -> int | None:
        found = self._special(role)
        return None if found is None else found[0]

    text.__doc__ = f"The spelling of the special with the role `{role}`, or None."
    number.__doc__ = f"The id of the special with the role `{role}`, or None."
    setattr(Names, f"{role}_token", property(text))
    setattr(Names, f"{role}_token_id", property(number))


for _role in (*_ROLES, "pad", "cls"):
    _by_role(_role)
