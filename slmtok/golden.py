"""The texts whose ids every tokenizer file records, so that a change of behaviour is caught when it is loaded."""

GOLDEN_TEXTS: tuple[bytes, ...] = (
    b"",
    b"Hello, world! It's 12:05, isn't it?",
    b"Once upon a time there was a little fox who didn't like the rain.",
    b"  two  spaces\tand tabs \r\n\r\n   then lines\n\n\n  ",
    b"0123456789 3.14159 1,000,000 2026-11-21",
    b"<s>text that spells specials</s><?><><sep><mask><|endoftext|>",
    "naïve café, Ő és Ű; Übergröße; ſ I'LL we\u2019re".encode(),
    "今天天气很好。日本語のテキスト、한국어 문장입니다".encode(),
    "Привет, мир! مرحبا بالعالم नमस्ते दुनिया שלום".encode(),
    "👩\u200d👩\u200d👧 🇭🇺 ✊🏽 e\u0301 a\ufe0f".encode(),
    b"for (int i = 0; i < n; ++i) {\n\t    x[i] = y->z / 0xFF; // HTTPServer camelCase\n}\n",
    b"\x00\xff\xfe bad \xc3( \xe2\x82 \xed\xa0\x80 \xf0\x9f\x98 bytes \x80",
    b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=================--------________",
)
