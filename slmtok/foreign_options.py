"""Options of other libraries and their trainers: the one of ours with that meaning, or why there is none."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Mapping
from typing import Any

from slmtok.errors import MAX_MISSPELT_CHARS, Message, Setting, UnknownName, suggestion, unknown_name, value_text
from slmtok.path_arguments import free_name, with_names
from slmtok.sizes import parse_size
from slmtok.specials import FIRST_LEARNED, is_pair, spellings_meant

AS_HF = frozenset(
    [
        *("text_pair", "padding", "truncation", "max_length", "stride", "is_split_into_words", "pad_to_multiple_of"),
        *("padding_side", "return_token_type_ids", "return_attention_mask", "return_overflowing_tokens"),
        *("return_special_tokens_mask", "return_offsets_mapping", "return_length"),
    ]
)
"""Options of a call of a tokenizer of transformers, and of `as_hf(tok)`, that `encode` and `encode_batch` lack."""
BOTH_AS_HF = ("add_special_tokens", "return_tensors", "threads")
"""Further options of `as_hf(tok)`, which `encode` or `encode_batch` has, or which have a counterpart there."""
OF_BOS = ("add_bos", "add_bos_token", "bos")
"""Options for bos, which calls of `as_hf(tok)` add together with other special tokens."""
EXAMPLE_LENGTH = 128
"""A number of ids for rows that are padded to a length which is not given."""


def hf_options(given: Mapping[str, Any], *, several: bool) -> dict[str, Any]:
    """The options with which a call of `as_hf(tok)` does what the given ones ask for.

    transformers ignores a side of padding without padding, and padding to a length that is not given; it makes no
    tensor of rows of several lengths. several: the call has a list of texts.
    """
    found = dict(given)
    for option, named in (("padding", "max_length"), ("truncation", True)):
        value = found.get(option)
        if type(value) is int:
            found[option] = named if value > 1 else bool(value)
            if value > 1:
                found.setdefault("max_length", value)
    if found.get("padding") in ("left", "right"):
        found["padding_side"], found["padding"] = found["padding"], True
    rows_are_filled = "padding_side" in found or "pad_to_multiple_of" in found
    if rows_are_filled or (several and found.get("return_tensors") is not None):
        found.setdefault("padding", True)
    if found.get("padding") == "max_length":
        found.setdefault("max_length", EXAMPLE_LENGTH)
    elif "max_length" in found:
        found.setdefault("truncation", True)
    return found


_TRAINING = "min_count"
"""An option that training alone has: reasons are given where training options are."""
_BYTES = "leave it out: the 256 bytes of each tokenizer cover every character"
_READING = "skip_malformed"
"""An option of everything that reads files of text."""
_TEXT = "leave it out: slmtok changes no text; change the text itself before"
_IDS = "leave it out: the ids of special tokens are fixed, unk 0, bos 1, eos 2, pad 3"
_DELIMITER = "leave it out: .csv has commas between columns, .tsv tabs; the separator cuts text files into documents"
_SEPARATORS = ("sep", "delimiter", "delim")
_OF_COLUMNS = ("", ",", ";", "|", "\t", "\\t", "tab")
"""Values that separate the columns of a table; another one separates documents."""
_SPACE = "leave it out: text is encoded as it is, and a token holds the space before its word"
_UNIGRAM = "leave it out: it belongs to Unigram, which slmtok does not have; the scheme is bpe"
_ORDER = "leave it out: the order of documents changes nothing, and a corpus may exceed the memory"
_DUPLICATES = "leave it out: slmtok keeps duplicates, and slmtok count reports them; remove them from the text before"
_PROGRESS = "leave it out: progress is shown on terminals"
_PATTERN: Message = (
    Setting("pattern", "slm"),
    ", the default: it splits at white space, and digits by two; other patterns split otherwise",
)
_OF_CONTROL = "control_symbols"
"""The option of SentencePiece for special tokens that no text spells, as ours are."""
_SPECIALS = ("specials", "special_tokens", "user_defined_symbols", _OF_CONTROL, "additional_special_tokens")
_OURS: dict[str, str] = {
    **dict.fromkeys(("files", "input", "dataset", "data", "texts"), "corpus"),
    **dict.fromkeys(("overwrite", "exist_ok"), "force"),
    **dict.fromkeys(("out", "out_file", "out_dir", "output_file", "output_dir", "save", "save_path"), "output"),
    **dict.fromkeys(("num_proc", "num_workers", "n_jobs", "nthreads", "workers", "jobs", "num_processes"), "threads"),
    **dict.fromkeys(("min_freq", "min_pair_frequency", "min_occurrences"), "min_count"),
    **dict.fromkeys(("max_sentencepiece_length", "max_piece_length"), "max_token_chars"),
    **dict.fromkeys(("max_sentence_length", "doc_cap"), "max_doc_chars"),
    **dict.fromkeys(("pat_str", "regex", "regex_pattern", "split_pattern"), "pattern"),
    **dict.fromkeys(("text_column", "text_field", "field", "column", "key", "jsonl_key", "json_key"), "text_key"),
    **dict.fromkeys(("shard_size", "max_shard_size", "shard_len", "tokens_per_shard"), "shard_tokens"),
    **dict.fromkeys(("algorithm", "model_type", "tokenizer_type"), "scheme"),
    "input_sentence_size": "max_docs",
    **dict.fromkeys(("limit", "max_samples", "num_samples", "n_samples", "max_examples", "num_examples"), "max_docs"),
    **dict.fromkeys(("max_documents", "num_docs", "n_docs"), "max_docs"),
    "n_vocab": "vocab_size",
    "vocab_size": "n_vocab",
    "vocab_sz": "vocab_size",
}
"""Options with another name and the same values."""
_PREFIX = "model_prefix"
"""The option of SentencePiece for the name of the result without its suffix."""
OUTPUTS = frozenset(["output", *(name for name, ours in _OURS.items() if ours == "output")])
"""Options of other libraries, and of commands, for the file of a result."""
TRUNCATION_SIDE = "as_hf(tok, truncation_side='left') keeps the end of a text; its calls take truncation=True"
_FIXES: dict[str, tuple[str, Message]] = {
    "truncation_side": ("truncation", TRUNCATION_SIDE),
    "add_special_tokens": ("bos", "bos=True, eos=True add them; without, none are added"),
    "disallowed_special": ("allow_special", "leave it out: what allow_special does not name is text"),
    "return_offsets_mapping": (
        "unit",
        (Setting("unit", "chars"), ", which gives spans in characters, as transformers does"),
    ),
    "out_type": ("allow_special", "[tok.id_to_token(id) for id in tok.encode(text)]"),
    **{
        f"{role}_{what}": ("special", (Setting("special", {role: f"<{role}>"}), ", for instance"))
        for role in ("unk", "bos", "eos", "pad", "sep", "mask")
        for what in ("piece", "token")
    },
    **{f"{role}_id": (_TRAINING, _IDS) for role in ("unk", "bos", "eos", "pad")},
    **dict.fromkeys(
        ("character_coverage", "byte_fallback", "limit_alphabet", "initial_alphabet", "required_chars", "alphabet"),
        (_TRAINING, _BYTES),
    ),
    **dict.fromkeys(
        (
            *("normalization_rule_name", "normalization_rule_tsv", "normalizer", "lowercase", "lower", "do_lower_case"),
            *("strip_accents", "clean_text", "remove_extra_whitespaces", "nfc", "nfkc", "handle_chinese_chars"),
        ),
        (_READING, _TEXT),
    ),
    **dict.fromkeys(
        (
            "split_digits",
            "split_by_number",
            "split_by_whitespace",
            "split_by_unicode_script",
            "pre_tokenizer",
            "pretokenizer",
        ),
        ("pattern", _PATTERN),
    ),
    **dict.fromkeys(
        (
            *("add_prefix_space", "add_dummy_prefix", "treat_whitespace_as_suffix", "continuing_subword_prefix"),
            *("end_of_word_suffix", "trim_offsets", "unk_surface"),
        ),
        (_TRAINING, _SPACE),
    ),
    **dict.fromkeys(
        ("seed_sentencepiece_size", "shrinking_factor", "num_sub_iterations", "n_sub_iterations", "max_piece_size"),
        (_TRAINING, _UNIGRAM),
    ),
    **dict.fromkeys(("shuffle", "shuffle_input_sentence", "train_extremely_large_corpus"), (_TRAINING, _ORDER)),
    **dict.fromkeys(("show_progress", "verbose"), (_TRAINING, _PROGRESS)),
    "hard_vocab_limit": ("allow_smaller", (Setting("allow_smaller", True), ", which accepts fewer ids")),
    **dict.fromkeys(_SEPARATORS, ("separator", _DELIMITER)),
    **dict.fromkeys(("dedup", "dedupe", "deduplicate", "drop_duplicates", "unique"), (_READING, _DUPLICATES)),
    "dropout": (_TRAINING, "leave it out: slmtok pack --inference dropout:0.1 skips merges where text is encoded"),
    "self_test_sample_size": (
        _TRAINING,
        "leave it out: each tokenizer file has texts that are checked when it is loaded",
    ),
}
"""Options whose values differ, or that slmtok does not have: the option of ours that a call must have, and the fix."""
_MERGES = ("num_merges", "n_merges", "max_merges", "merges")
"""Options for the number of merges, which training has beside the specials and the bytes."""
_NEEDLESS = {
    "trust_remote_code": "leave it out: the file of a tokenizer has no code",
    "use_fast": "leave it out: there is one tokenizer, which is compiled",
    **dict.fromkeys(
        ("clean_up_tokenization_spaces", "spaces_between_special_tokens"), "leave it out: decoding changes no spaces"
    ),
}
"""Options that no call needs, each with the reason."""


VALIDATION_SHARES = (
    *("test_size", "val_ratio", "val_frac", "val_fraction", "val_split", "val_size", "valid_size"),
    *("validation", "validation_split", "validation_size", "validation_fraction", "eval_ratio", "test_split"),
)
"""Options for the share of documents that are held out."""
TRAINING_SHARES = ("train_size", "train_ratio", "train_frac", "train_fraction", "train_share")
"""Options for the share of documents that are trained on."""
_EITHER_SHARES = ("split", "split_ratio")
"""Options for one of the two, and the larger part is trained on."""
_NAMES_OF_SPLITS = "train|training|val|valid|validation|dev|eval|test"
DIVIDING_SHARES = (*VALIDATION_SHARES, *TRAINING_SHARES, *_EITHER_SHARES)
VALIDATION_FILES = (
    *("val_file", "val_files", "validation_file", "validation_files", "eval_file", "test_file", "val_data"),
)
"""Options for files of held out text."""

_NAMES_OF_HF = ("huggingface", "hugging-face", "hugging_face", "transformers", "tokenizers")
NEAREST = {
    **dict.fromkeys(("validation", "valid", "dev", "eval", "test"), "val"),
    **dict.fromkeys(("wordpiece", "unigram", "sentencepiece", "spm", "ulm"), "bpe"),
    **dict.fromkeys(("wordlevel", "word-level", "word_level"), "word"),
    **dict.fromkeys(("bin", "memmap", "uint16"), "nanogpt"),
    **dict.fromkeys(("numpy", "np", "pt", "torch", "pytorch", "tensor"), "npy"),
    **dict.fromkeys(("length", "len", "size"), "bytes"),
    **dict.fromkeys(("freq", "frequency", "count", "counts", "rank", "merge"), "id"),
    **dict.fromkeys((*_NAMES_OF_HF, "gguf"), "hf"),
    **dict.fromkeys(("bbpe", "byte-level-bpe", "bytelevel", "byte_level"), "bpe"),
}
"""Algorithms, formats and splits of other libraries, each with ours that is nearest to it."""


_SAME = {
    **dict.fromkeys(("pytorch", "torch", "tensor", "tensors"), "pt"),
    **dict.fromkeys(("numpy", "array", "ndarray"), "np"),
    **dict.fromkeys(("number", "numbers", "numeric", "digit"), "digits"),
    **dict.fromkeys(("json", "json-lines", "json_lines", "json lines", "ndjson"), "jsonl"),
}
"""Other words for names of ours."""


OF_HF = frozenset(
    [
        *("save_pretrained", "batch_decode", "tokenize", "convert_ids_to_tokens", "convert_tokens_to_ids"),
        *("all_special_ids", "all_special_tokens", "model_max_length", "padding_side"),
    ]
)
"""Names of tokenizers of transformers that `as_hf(tok)` has, and a `Tokenizer` has not."""
OF_TIKTOKEN = frozenset(
    [
        *("encode_ordinary", "encode_ordinary_batch", "encode_to_numpy", "encode_single_token"),
        *("decode_single_token_bytes", "decode_tokens_bytes", "decode_with_offsets", "decode_bytes_batch"),
        *("name", "token_byte_values", "eot_token", "max_token_value", "special_tokens_set", "is_special_token"),
    ]
)
"""Names of encodings of tiktoken that `as_tiktoken(tok)` has, and a `Tokenizer` has not."""


OF_SENTENCEPIECE = frozenset(
    [
        *("EncodeAsIds", "EncodeAsPieces", "Encode", "DecodeIds", "DecodePieces", "Decode", "GetPieceSize"),
        *("PieceToId", "IdToPiece", "encode_as_ids", "encode_as_pieces", "decode_ids", "decode_pieces"),
        *("piece_to_id", "id_to_piece", "get_piece_size", "piece_size"),
    ]
)
"""Names of processors of SentencePiece that the one of `slmtok.compat.sentencepiece` has, and a `Tokenizer` has not."""
_TRAIN_TEXTS = "slmtok.train(slmtok.Texts(texts), vocab_size=8192)  # texts and 8192 stand for your own values"
_TRAIN = "slmtok.train('CORPUS', vocab_size=8192)"
_ROWS = "slmtok.compat.as_hf(tok)(texts, padding=True, truncation=True, max_length=512) has it"
_MEASURE = "from slmtok.analysis.measure import measure; measure([('tok', tok)], [(text.encode(), 0)])"
CALLS_ELSEWHERE = {
    **dict.fromkeys(("eval", "evaluate", "measure", "bytes_per_token", "compression_ratio", "fertility"), _MEASURE),
    "audit": "from slmtok.analysis.audit import audit; audit(tok, [text.encode()])",
    **dict.fromkeys(("diff", "compare"), "from slmtok.analysis.diff import compare; compare(tok, other_tok)"),
    "exposure": "from slmtok.analysis.exposure import exposure; exposure(slmtok.shards.open_shards('DATA'), tok)",
    "size_curve": "from slmtok.analysis.size_curve import size_curve; size_curve(tok, [text.encode()])",
    "align": "slmtok align A B --on TEXT in a shell, of losses that slm eval RUN --losses FILE writes",
    **dict.fromkeys(("export", "to_hf"), "from slmtok.formats.export import export; export(tok, 'hf', '{exported}')"),
    **dict.fromkeys(
        ("import_", "import_file", "from_hf", "from_huggingface"),
        "from slmtok.formats.importing import import_file; import_file('FILE')",
    ),
    **dict.fromkeys(("open_shards", "Shards"), "from slmtok.shards import open_shards; open_shards('DATA')"),
    **dict.fromkeys(("merge", "merge_files"), "slmtok.merge_counts(['COUNTS'], '{all.counts}')"),
    **dict.fromkeys(("set_special", "add_special", "register_special_tokens"), "tok.with_special('user', '<|user|>')"),
    **dict.fromkeys(("save_model", "write", "dump", "to_file"), "tok.save(path)"),
    **dict.fromkeys(("encode_file", "encode_corpus"), "tok.encode_files(paths, out)"),
    **dict.fromkeys(("show", "visualize"), "slmtok.view(tok)"),
    "from_pretrained": "slmtok.load('{TOK}'), or slmtok.load('gpt2') for a public encoding",
    **dict.fromkeys(("from_file", "from_str", "load_tokenizer"), "slmtok.load('{TOK}')"),
    **dict.fromkeys(("from_buffer", "from_bytes"), "slmtok.Tokenizer.from_bytes(data)"),
    **dict.fromkeys(("load_dataset", "Dataset", "read_corpus"), "slmtok.Texts(texts), or the path of a file"),
    **dict.fromkeys(("BpeTrainer", "train_from_files", "train_tokenizer"), _TRAIN),
    **dict.fromkeys(("prepare", "tokenize_dataset"), "slmtok.pack('CORPUS', tok, '{data}')"),
    **dict.fromkeys(("ShardDataset", "ShardLoader"), "import slmmodel; slmmodel.data.{name}"),
    "slmmodel": "import slmmodel",
    **dict.fromkeys(("sample_corpus", "story"), "from slmtok.stories import story; story(0)"),
    **dict.fromkeys(("as_hf", "as_tiktoken"), "slmtok.compat.{name}(tok)"),
    **dict.fromkeys(("info", "verify", "inspect"), "slmtok info {TOK} && slmtok verify {TOK} in a shell"),
    "reproduce": "slmtok reproduce LOCK in a shell",
    "report": "slmtok report {TOK} -o {report.html} in a shell",
    "completion": "slmtok completion bash in a shell",
    **dict.fromkeys(("chat", "demo", "doctor", "prompts", "resume"), "slm {name} --help in a shell"),
    "version": "slmtok.__version__",
}
"""Names that a Tokenizer or this package lacks, of commands and other libraries, each with a call for `with_names`."""
OF_OTHERS = {
    "vocab": "tok.get_vocab() has it",
    "merges": "tok.vocabulary.merges has them",
    "encode_plus": "slmtok.compat.as_hf(tok) has it, as a call with a text",
    "batch_encode_plus": "slmtok.compat.as_hf(tok) has it, as a call with texts",
    **dict.fromkeys(("get_vocab_size", "n_words", "n_tokens", "size"), "tok.n_vocab has it"),
    **dict.fromkeys(
        ("add_special_tokens", "add_tokens", "add_special_token"),
        "tok.with_special('user', '<|user|>') makes one with another special, slmtok.extend one with more tokens",
    ),
    **dict.fromkeys(("special_tokens", "special_tokens_map", "get_added_vocab"), "tok.specials has them"),
    **dict.fromkeys(("train_from_iterator", "train_new_from_iterator"), _TRAIN_TEXTS),
    **dict.fromkeys(("enable_padding", "enable_truncation", "no_padding", "no_truncation", "pad", "truncate"), _ROWS),
    **dict.fromkeys(("to_str", "to_json"), "tok.to_bytes() has it"),
    **dict.fromkeys(("pre_tokenizer", "pre_tokenize", "pat_str", "split"), "tok.pattern has the split pattern"),
    **dict.fromkeys(("stoi", "encoder", "token2id"), "tok.get_vocab() has it"),
    **dict.fromkeys(("itos", "decoder", "id2token"), "tok.id_to_token(id) has it"),
    **dict.fromkeys(("encode_text", "encode_fast", "batch_encode"), "tok.encode_batch(texts) has it"),
    **dict.fromkeys(("detokenize", "decode_list", "decode_text"), "tok.decode(ids) has it"),
    **dict.fromkeys(("decode_token", "decode_single"), "tok.token_bytes(id) has it"),
}
"""Names of other libraries, each with what stands for it here."""


def call_meant(name: str) -> str | None:
    """The call for a name that a Tokenizer lacks, of the variable `tok`; None for names without one."""
    adapters = {"as_hf(tok)": OF_HF, "as_tiktoken(tok)": OF_TIKTOKEN}
    adapters["sentencepiece.SentencePieceProcessor(tok)"] = OF_SENTENCEPIECE
    for adapter, names in adapters.items():
        if name in names:
            return f"slmtok.compat.{adapter}.{name} is that of the library"
    call = OF_OTHERS.get(name) or CALLS_ELSEWHERE.get(name)
    return with_names(call.replace("{name}", name)) if call else None


def closest(value: object, choices: Iterable[str]) -> str | None:
    """The choice that a value, which must be one of them, is most like: it may be cut short, or misspelt; else None."""
    name, known = (value if isinstance(value, str) else value_text(value)).lower(), list(choices)
    if len(name) > MAX_MISSPELT_CHARS:
        return None
    import difflib

    if meant := suggestion(name, known, cutoff=0.9):
        return meant
    ratios = {each: difflib.SequenceMatcher(None, name, each.lower()).ratio() for each in known}
    begun = [each for each in known if len(name) > 2 and each.lower().startswith(name)]
    if len(begun) == 1:
        return begun[0]
    best = sorted(known, key=lambda each: -ratios[each])[:2]
    is_near = best and ratios[best[0]] >= _NEAR and (len(best) == 1 or ratios[best[0]] > ratios[best[1]])
    return best[0] if is_near else None


_NEAR = 0.6


def any_of(name: str, choices: Iterable[str]) -> Message:
    """A fix with each of the choices as the value of an option, for a value that is like none of them."""
    found: list[str | Setting] = []
    for each in choices:
        found += [*([", or "] if found else []), Setting(name, each)]
    return tuple(found)


def nearest_name(name: object, choices: Container[str]) -> str | None:
    """The choice that is nearest to an algorithm or a split of another library; None for other names."""
    known = [each.get(name.lower()) for each in (NEAREST, _SAME)] if isinstance(name, str) else []
    return next((each for each in known if each is not None and each in choices), None)


def nearest_remark(name: str, nearest: str, program: str = "slmtok") -> str:
    """What to add to a fix that has `nearest` in the place of `name`; nothing where both are one thing."""
    if name.lower() in (nearest, *_NAMES_OF_HF) or _SAME.get(name.lower()) == nearest:
        return ""
    if name.lower() == "gguf" and program == "slm":
        converter = "convert_hf_to_gguf.py of llama.cpp reads, once its get_vocab_base_pre() has the pre-tokenizer"
        return f", which {converter}; slm has no gguf"
    read = f"which converters to and from {name} know" if nearest == "hf" else "which is the nearest"
    return f", {read}; {program} has no {name}"


def unknown_format(what: str, name: object, choices: Collection[str]) -> UnknownName:
    """`unknown_name` for the formats of files; the fix is the one that is nearest to a name of another library."""
    error = unknown_name(what, name, choices)
    if nearest := nearest_name(name, choices):
        error.fix = f"use {nearest!r}{nearest_remark(str(name), nearest)}"
    return error


def scheme_meant(value: object) -> Message:
    """The scheme that is, or is nearest to, an algorithm of another library."""
    name = value.lower() if isinstance(value, str) else "bpe"
    nearest = NEAREST.get(name, name)
    return (Setting("scheme", nearest), nearest_remark(str(value), nearest))


def _spellings(value: object) -> list[str]:
    """The spellings in a list, or between the commas of a str; [] for other values."""
    listed = value.split(",") if isinstance(value, str) else value
    return [text for text in listed if isinstance(text, str) and text] if isinstance(listed, (list, tuple)) else []


def specials_meant(value: object) -> dict[str, str]:
    """Role to spelling of the specials in a value: roles are kept, as are the `pad` of `pad_token`; ids are not."""
    if isinstance(value, (list, tuple)) and value and all(map(is_pair, value)):
        value = dict(value)
    if not isinstance(value, Mapping):
        return spellings_meant(_spellings(value))
    found: dict[str, str] = {}
    for role, text in value.items():
        content = text.get("content", text.get("text")) if isinstance(text, Mapping) else text
        texts = _spellings(content) if role in _SPECIALS or not isinstance(content, str) else [content]
        if role in _SPECIALS or not texts:
            # A name with an id, or with nothing, may be a spelling.
            found |= spellings_meant(texts or [str(role)])
        else:
            found[str(role).removesuffix("_token")] = texts[0]
    return found


_SHARE = re.compile(r"\s*(?:([a-z_-]+)\s*:)?\s*(-?\d*\.?\d+)(?:/([1-9]\d*))?\s*(%?)\s*", re.ASCII | re.IGNORECASE)
_SPLITS = {
    **dict.fromkeys(("hash", "random", "rand", "shuffle", "shuffled"), "hash"),
    **dict.fromkeys(("tail", "last", "end"), "tail"),
}
"""The rule of a split, by its name and by those of other tools."""


def rule_of_share(text: str) -> str | None:
    """The rule that a share such as `0.1`, `1/20`, `10%` or `random:10%` stands for; None for another text.

    A share alone is a tail, which is that share of any corpus; a hash may choose none of a few documents.
    """
    share = _SHARE.fullmatch(text)
    if share is None:
        return None
    number = float(share[2]) / int(share[3] or 1)
    percent = number * (1 if share[4] or number >= 1 else 100)
    rounded = min(max(round(percent, 4), 0.0001), 99.9999)
    return f"{_split_named(share[1]) or 'tail'}:{rounded:g}%" if 0 < percent < 100 else "tail:10%"


def _split_named(name: str | None) -> str | None:
    """The split that a name before a share means; None without one, and for other names."""
    return _SPLITS.get((name or "").lower()) or closest(name or "", ("hash", "tail"))


def held_out_share(name: str, share: str) -> str:
    """The share that is held out, by the value of an option of another tool: 10% for `train_size=0.9`."""
    rule = rule_of_share(share)
    if rule is None or name not in (*TRAINING_SHARES, *_EITHER_SHARES):
        return share
    percent = float(rule.removesuffix("%").partition(":")[2])
    return share if name in _EITHER_SHARES and percent <= 50 else f"{round(100 - percent, 4):g}%"


def split_of_share(share: object) -> Message:
    """The fix with the rule of a share, `tail:10%` for a text that is none; both rules where the text names neither.

    A share of nothing is no split.
    """
    rule = rule_of_share(str(share)) or "tail:10%"
    found = _SHARE.fullmatch(str(share))
    if found and not float(found[2]):
        return (Setting("val", "none"), ", or ", Setting("val", "tail:10%"))
    if found and _split_named(found[1]):
        # `hash:0.5` may be half of the documents, and `hash:0.5%` without its sign.
        as_percent = (not found[3] and rule_of_share(f"{share}%")) or rule
        return (
            (Setting("val", rule),)
            if as_percent == rule
            else (Setting("val", rule), ", or ", Setting("val", as_percent))
        )
    return (
        Setting("val", rule),
        ", which is the end of the corpus, or ",
        Setting("val", rule.replace("tail", "hash")),
        ", which chooses some of many documents by a hash",
    )


def foreign_option(name: str, value: object, options: Collection[str]) -> tuple[str | None, Message | None]:
    """(the option of ours, the fix) for an option of another library; (None, None) where none of `options` is meant."""
    if name in _SPECIALS and "special" in options:
        spelled = specials_meant(value) or {"user": "<|user|>"}
        return "special", (Setting("special", spelled), *(() if name == _OF_CONTROL else _stays_text(spelled)))
    if name == "trainer" and "vocab_size" in options and (settings := _settings_of_trainer(value)):
        return "vocab_size", settings
    if name == "split_by_whitespace" and "pattern" in options and str(value).lower() in ("false", "0", "no"):
        return "pattern", (Setting("pattern", "whole"), ", which splits a text nowhere")
    if name == "split" and "val" in options and re.fullmatch(_NAMES_OF_SPLITS, str(value)):
        without = ("leave it out: files have no splits, and ", Setting("val", "none"), " puts all of them into train")
        return "val", (*without, f"; of a data set of the hub, hf:NAME@{value} is one")
    if name in DIVIDING_SHARES and "val" in options:
        return "val", split_of_share(held_out_share(name, str(value)))
    if name in VALIDATION_FILES and "val" in options:
        return "val", (Setting("val", f"files:{value or 'TEXT'}"), ", and the file in the corpus too")
    if name in OF_BOS and "add_special_tokens" in options:
        return "add_special_tokens", (Setting("add_special_tokens", bool(value)),)
    if name in _MERGES and _TRAINING in options:
        n_merges = str(value)
        is_number = n_merges.isascii() and n_merges.isdecimal()
        size = Setting("vocab_size", int(n_merges) + FIRST_LEARNED) if is_number else Setting("vocab_size")
        return "vocab_size", (size, f", which counts {FIRST_LEARNED} specials and bytes too")
    if name in ("skip_special", "skip_special_tokens") and "rows" in options:
        of_each = "[tok.decode(row, skip_special=True) for row in rows]"
        return None, of_each if value else "leave it out: special tokens give their spelling"
    if name in ("pad", "pad_token") and "pad_to_multiple_of" in options:
        return None, f"as_hf(tok, pad={value!r}) fills rows with it; its calls take padding=True"
    if name in _SEPARATORS and "separator" in options and isinstance(value, str) and value not in _OF_COLUMNS:
        # A shell passes two characters for a line break.
        return "separator", (Setting("separator", value.replace("\\n", "\n")),)
    if name == "input_sentence_size" and {"document", "max_docs"} <= {*options}:
        sentences = Setting("max_docs") if value is None else Setting("max_docs", value)
        return "max_docs", (Setting("document", "line"), ", ", sentences)
    if (ours := _OURS.get(name, "")) in options:
        if isinstance(value, str) and value.isdecimal() and ours in ("n_vocab", "vocab_size"):
            value = int(value)
        if ours == "scheme":
            return ours, scheme_meant(value)
        if ours == "shard_tokens" and isinstance(value, str) and value[-1:] in "bB" and (n_bytes := parse_size(value)):
            # Other libraries limit shards by bytes.
            return ours, (Setting(ours, max(1, n_bytes // 2)), f", which are {value} of ids of two bytes each")
        return ours, (Setting(ours) if value is None else Setting(ours, value),)
    if _TRAINING in options and _OURS.get(name, name) in ("output", _PREFIX):
        path = f"{value}{'.json' * (name == _PREFIX)}" if isinstance(value, str) else free_name("tok.json")
        return None, f"leave it out; tok.save({path!r}) writes the tokenizer"
    needed, fix = _FIXES.get(name, ("", None))
    return None, fix if needed in options else _NEEDLESS.get(name)


def _stays_text(spelled: Mapping[str, str]) -> tuple[str | Setting, ...]:
    """The note that text which spells a special token stays text, unlike in other libraries; () without specials."""
    if not spelled:
        return ()
    stays = f"; text that spells {'it' if len(spelled) == 1 else 'them'} stays text, also in pack"
    return f"{stays}; encode gives the special ids with ", Setting("allow_special", tuple(spelled))


def _settings_of_trainer(trainer: object) -> Message | None:
    """The options of a trainer of tokenizers by our names; None for an object without a size."""
    size, least = getattr(trainer, "vocab_size", None), getattr(trainer, "min_frequency", 0)
    if type(size) is not int:
        return None
    found = [Setting("vocab_size", size)]
    if type(least) is int and least > 1:
        found.append(Setting("min_count", least))
    texts = [str(getattr(each, "content", each)) for each in getattr(trainer, "special_tokens", ())]
    if spelled := specials_meant(texts):
        found.append(Setting("special", spelled))
    return (found[0], *(part for each in found[1:] for part in (", ", each)), *_stays_text(spelled))
