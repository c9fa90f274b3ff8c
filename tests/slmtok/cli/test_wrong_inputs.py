"""Wrong inputs whose message once misled: what is said, the exit status, and that nothing stays behind."""

from __future__ import annotations

import gzip
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from slmtok.cli import main

CASES = {
    "train a.txt --vocab": (2, "error: option '--vocab' requires an argument\n  where: slmtok train\n"),
    "reproduce tok.json": (1, "fix:   name the lock beside it: tok.lock"),
    "slice a.txt --vocab 300 -o x": (1, "fix:   name the tokenizer file beside it: tok.json"),
    "encode a.txt -t vocab.json": (1, "fix:   name the tokenizer file beside it: tok.json"),
    "encode a.txt -t folder": (1, "error: the folder 'folder' holds no tokenizer\n  limit: one of tok.json,"),
    "set-special tok.json größe=ü -o x": (2, "error: 'größe' is not a valid role"),
    "count packed": (2, "is the manifest of packed data of slmtok, not text\n"),
    "train packed --vocab 300": (2, "fix:   name the text that was packed"),
    "audit tok.json --on a.txt -o tok.json --force": (2, "output 'tok.json' is also the input"),
    "slice packed --vocab 275 -o packed/tok.json --force": (2, "output 'packed/tok.json' is also the input"),
    "set-special packed user=U -o packed/vocab.json --force": (2, "output 'packed/vocab.json' is also the input"),
    "audit tok.json --on a.txt -o sub/": (2, "output 'sub/' names a folder"),
    "train a.txt --vocab 275 --save-counts - -o x": (2, "--save-counts - is stdout, and this output needs a name\n"),
    "encode a.txt -t tok.json -o sub/": (2, "fix:   mkdir -p sub; then name a file in it\n"),
    "set-special tok.json user=U -o sub/": (
        2,
        "fix:   mkdir -p sub/ && slmtok set-special tok.json user=U -o sub/chat.json\n",
    ),
    "slice tok.json --vocab 275 -o sub/": (
        2,
        "fix:   mkdir -p sub/ && slmtok slice tok.json --vocab 275 -o sub/small.json\n",
    ),
    "set-special tok.json user=U -o a.txt/": (2, "fix:   leave the slash out\n"),
    "audit a.txt --on tok.json -o c.json": (2, "fix:   slmtok audit tok.json --on a.txt -o c.json"),
    "audit tok.json --on a.txt --metadata tok.json -o c.json": (2, "error: --metadata tok.json is a tokenizer file"),
    "audit tok.json --on empty.txt -o c.json": (1, "the corpus is empty: empty.txt has no byte of text"),
    "eval tok.json --on empty.txt": (1, "the corpus is empty: empty.txt has no byte of text"),
    "eval tok.json --on a.txt --sizes 700": (2, "limit: 272 to 280\n  fix:   --sizes 280\n"),
    "eval tok.json --on a.txt --sizes 4k": (2, "fix:   --sizes 272\n"),
    "eval tok.json --on a.txt --sizes 256,275": (2, "fix:   --sizes 272,275\n"),
    "prune tok.json --ids a.txt -o x": (
        1,
        "fix:   name a file with one id a line; slmtok vocab tok.json lists the ids",
    ),
    "prune tok.json --ids empty.txt -o x": (1, "empty.txt is not a list of ids"),
    "prune tok.json --ids a.txt --unused-on a.txt -o x": (2, "error: --ids together with --unused-on\n"),
    "prune tok.json --unused-on a.txt --keep 9 -o x": (2, "fix:   --keep 272, or another size from the limit up\n"),
    "prune tok.json --unused-on empty.txt -o x": (1, "error: the corpus is empty: 1 document of 0 bytes\n"),
    "prune tok.json --unused-on a.txt -o a.txt --force": (2, "error: -o 'a.txt' would hold JSON, not .txt\n"),
    "prune tok.json --ids a.txt -o a.txt --force": (2, "error: output 'a.txt' is also the input\n"),
    "extend tok.json a.counts --vocab 290 -o a.counts --force": (2, "error: output 'a.counts' is also the input\n"),
    "extend tok.json empty.txt --vocab 290 -o x": (1, "error: the corpus is empty: 1 document of 0 bytes\n"),
    "diff tok.json packed --on empty.txt": (1, "error: the corpus is empty: empty.txt has no byte of text\n"),
    "encode a.zip -t tok.json": (2, "fix:   python -m zipfile -e a.zip a # and name a, or --format text to read"),
    "encode wide.txt -t tok.json": (2, "fix:   --encoding utf-16, or --format text to read its bytes as they are\n"),
    "pack a.txt -t tok.json -o x --val 1.5": (
        2,
        "fix:   --val tail:1.5%, which is the end of the corpus, or ",
    ),
    "pack a.txt -t tok.json -o x --val 0.5%": (
        2,
        "fix:   --val tail:0.5%, which is the end of the corpus, or ",
    ),
    "pack a.txt -t tok.json -o x --val -0.1": (
        2,
        "fix:   --val tail:10%, which is the end of the corpus, or ",
    ),
    "pack a.txt -t tok.json -o x --val tail:0.1": (2, "fix:   --val tail:10%, or --val tail:0.1%\n"),
    "slice tok.json --vocab 275 --vocab 276 -o x": (2, "error: --vocab is given 2 times"),
    "slice tok.json --vocab 275 -o": (2, "error: option '-o' requires an argument"),
    "slice tok.json --vocab 275 --output=": (2, "error: --output is empty\n"),
    "export tok.json --output-format tiktoken -o -": (2, "-o - is stdout, and this output needs a name"),
    "export tok.json --output-format tiktoken -o a.txt --force": (
        1,
        "output 'a.txt' is a file, and a folder is written",
    ),
    "export tok.json --output-format tiktoken --name gpt2 -o x": (2, "fix:   --name my-gpt2\n"),
    "export tok.json --output-format hf --no-verify --verify-on a.txt -o x": (
        2,
        "--verify-on together with --no-verify",
    ),
    "export tok.json --output-format hf --verify-on packed -o x": (2, "is the manifest of packed data"),
    "merge tok.json a.counts -o x": (
        2,
        "fix:   slmtok extend tok.json CORPUS --vocab N -o larger.json learns from more",
    ),
    "info a.txt": (1, "fix:   slmtok count a.txt -o a-2.counts counts its documents, bytes and pretokens\n"),
    "vocab tok.json --grep *the*": (2, "fix:   --grep the; --grep '\\*the\\*' for these characters themselves\n"),
    "vocab tok.json --sort freq": (2, "fix:   --sort id, which is the nearest; slmtok has no freq\n"),
    "completion tcsh": (2, "error: there is no completion for the shell 'tcsh'\n  limit: one of bash, zsh,"),
    "completion pwsh": (2, "fix:   slmtok completion powershell\n"),
    "completion -bash": (2, "fix:   slmtok completion bash\n"),
    "train a.txt r.jsonl --vocab 280 --exclude a.md,b.md -o x": (2, "fix:   --exclude a.md --exclude b.md\n"),
    "train a.txt --vocab 280 --special <|u|>,<|a|> -o x": (2, "fix:   --special 'u=<|u|>' --special 'a=<|a|>'\n"),
    "set-special tok.json <|u|>,<|a|> -o x": (2, "fix:   slmtok set-special tok.json 'u=<|u|>' 'a=<|a|>' -o x\n"),
    "train a.txt b.txt --vocab 280 --max-bytes 50% -o x": (2, "fix:   --sample 50%, a share of the documents\n"),
    "train a.txt --vocab 280 --sample 1000 -o x": (
        2,
        "fix:   --max-docs 1000 for the first 1000 documents; a.txt is one",
    ),
    "train a.txt --vocab 280 --sample 10 -o x": (
        2,
        "fix:   --sample 0.1 for 10 % of them; --max-docs 10 for the first 10 documents; a.txt is one document: ",
    ),
    "train a.txt --vocab 280 -t tok.json -o x": (
        2,
        "fix:   use slmtok extend tok.json a.txt --vocab 280 -o x, which adds tokens;",
    ),
    "prune tok.json --ids 275-279 -o x": (1, "fix:   seq 275 279 > prune-ids.txt && slmtok prune tok.json --ids prune"),
    "encode a.txt r.jsonl -t tok.json": (
        2,
        "fix:   slmtok encode a.txt -t tok.json && slmtok encode r.jsonl -t tok.json\n",
    ),
    "encode a.txt -t tok.json --output-format pt": (2, "fix:   --output-format npy, which is the nearest; "),
    "encode a.txt -t tok.json --dtype int64": (
        2,
        "fix:   leave it out: ids have two bytes up to 65,536 ids, else four\n",
    ),
    "encode a.txt -t tok.json --max-length 5": (2, "fix:   leave it out: encode keeps each text whole; in Python, "),
    "decode ids.npy": (2, "fix:   slmtok decode ids.npy -t tok.json\n"),
    "pack a.txt -t tok.json cut.json -o x": (2, "fix:   -t tok.json -t cut.json -o 'x-{name}'\n"),
    "pack a.txt -t tok.json -o x --val-file r.jsonl": (2, "fix:   use --val files:r.jsonl, and the file in the corpus"),
    "pack a.txt -t tok.json -o x --shuffle": (2, "fix:   leave it out: slm train shuffles documents and sequences"),
    "exposure packed -t tok.json": (2, "fix:   leave it out: packed data have their tokenizer\n"),
    "eval a.txt": (2, "fix:   slmtok eval tok.json --on a.txt\n"),
    "sample-corpus --size 1MB -o x": (2, "fix:   use --bytes 1MB\n"),
    "vocab tok.json --id 275": (2, "fix:   printf %s 275 | slmtok decode - -t tok.json\n"),
    "vocab tok.json --search the": (2, "fix:   use --grep the\n"),
    "count a.txt --encoding undefined -o x": (2, "error: --encoding undefined is not an encoding of text\n"),
    "merge a.counts ./a.counts -o a.counts --force": (2, "fix:   slmtok merge a.counts ./a.counts -o a-2.counts\n"),
    "diff tok.json cut.json tok.json": (2, "fix:   slmtok diff tok.json cut.json\n"),
    "diff tok.json cut.json tiktoken:gpt2": (
        2,
        "fix:   slmtok eval tok.json cut.json tiktoken:gpt2 --on TEXT compares",
    ),
    "diff tok.json cut.json tiktoken:gpt2 --on a.txt": (2, " eval tok.json cut.json tiktoken:gpt2 --on a.txt compares"),
    "vocab tok.json --grep *ing": (2, "fix:   --grep 'ing$'; --grep '\\*ing' for these characters themselves\n"),
    "prune tok.json --ids r.jsonl -o x": (1, "fix:   name a file with one id a line; slmtok vocab tok.json lists the"),
    "export tok.json --output-format gguf -o x": (2, "which converters to and from gguf know; slmtok has no gguf\n"),
    "encode a.txt -t tok": (1, "fix:   tok.json\n"),
    "prune tok.json --unused-on a.txt --keep 100% -o x": (2, "fix:   --keep 272, for instance, of the 280 ids"),
    "prune tok.json --unused-on a.txt --keep 0.99 -o x": (2, "fix:   --keep 277, of the 280 ids that tok.json has\n"),
    "set-special tok.json user <|user|> -o x": (2, "fix:   slmtok set-special tok.json 'user=<|user|>' -o x\n"),
    "set-special tok.json user:<|user|> -o x": (2, "fix:   slmtok set-special tok.json 'user=<|user|>' -o x\n"),
    "set-special tok.json pad=</s> -o x": (2, "fix:   leave pad out: </s> is the spelling of eos; in Hugging Face, "),
    "pack a.txt -t tok.json -o x --output-format bin": (2, "fix:   --output-format nanogpt, which is the nearest; "),
    "bench --against tiktoken tokenizers --on a.txt": (2, "fix:   use --against tiktoken,tokenizers\n"),
    "bench a.txt --rounds 1": (2, "fix:   slmtok bench --rounds 1 --on a.txt\n"),
    "bench --against huggingface,rustbpe --on a.txt": (
        2,
        "fix:   --against tokenizers; tokenizers is the package of Hugging Face; rustbpe is not measured\n",
    ),
    "train --input=a.txt --vocab 280 --model_type=unigram -o x": (2, "--model_type; slmtok has no unigram\n"),
    "extend tok.json a.txt --vocab 10 -o x": (2, "fix:   --vocab 290 for 10 more; slice makes a smaller one\n"),
    "pack a.txt -t tok.json -o x --val files:r.jsonl": (
        2,
        "fix:   slmtok pack a.txt r.jsonl -t tok.json -o x --val files:r.jsonl\n",
    ),
    "eval tok.json --on a.txt --sizes 275 280": (2, "fix:   slmtok eval tok.json --on a.txt --sizes 275,280\n"),
    "decode packed/train-00000.bin -t tok.json --input-format bin": (2, "fix:   leave --input-format out\n"),
    "bench --rounds 1.5 --on a.txt": (2, "error: --rounds takes an integer >= 0, not '1.5'\n"),
    "train a.txt --vocab 280 290": (2, "fix:   --vocab 280 --vocab 290\n"),
    "view tok.json --text abc -o x.html": (2, "fix:   slmtok view tok.json -o x.html abc\n"),
    "show tok.json --text=abc --ids": (2, "fix:   slmtok show tok.json --ids abc\n"),
    "merge a.counts --min-count 99999 -o x": (2, "error: --min-count 99999 leaves out every pretoken\n"),
    "merge part-*.counts -o x": (1, "fix:   './*.counts'\n"),
    "sample-corpus --docs 300 -o x": (2, "fix:   use --bytes 330000, about 300 stories: their size is given, "),
    "sample-corpus --max-docs 2 -o x": (2, "fix:   use --bytes 5500, about 5 stories: "),
    "sample-corpus --bytes 10 -o x": (2, "error: --bytes 10 is less than one story\n"),
    "sample-corpus -o x.txt.gz": (2, "fix:   -o x.txt\n"),
    "sample-corpus -o x.jsonl": (2, "fix:   -o x.txt\n"),
    "show tok.jsn Once": (1, "fix:   check the name: there is 'tok.json'\n"),
    "extend tok.json a.txt --vocab 300 --mix a=2 -o x": (
        2,
        "fix:   --domain 'a=a.*', with the text that is counted: globs of its files; of 1, a.* matches 1\n",
    ),
    "info packed/manifest.json": (1, "fix:   name the folder: packed\n"),
    "encode a.txt -t gpt2": (
        1,
        "python -c \"import tiktoken; tiktoken.get_encoding('gpt2')\", or set TIKTOKEN_CACHE_DIR",
    ),
    "count a.txt --doc-digests my.digests -o c.counts": (
        2,
        "error: --doc-digests is given a value\n  where: slmtok count\n"
        "  limit: --doc-digests alone: it writes c.counts.digests\n"
        "  fix:   slmtok count a.txt --doc-digests -o c.counts\n",
    ),
    "count a.txt --doc-digests a.counts.digests -o c.counts": (2, "error: --doc-digests is given a value\n"),
    "train a.txt -vocab 300 -o x": (2, "error: '-vocab' has one dash\n  where: slmtok train\n"),
    "train a.txt --vocab 300,400": (2, "fix:   --vocab 300 --vocab 400\n"),
    "train a.txt --vocab 300 --model_type=unigram": (
        2,
        "fix:   use --scheme bpe, which is the nearest; slmtok has no unigram\n",
    ),
    "train a.txt --vocab 300 --model_type word": (2, "fix:   use --scheme word\n"),
    "train a.txt --vocab 300 --special eos=a --special eos=b": (
        2,
        "error: --special names 'eos' twice\n  where: slmtok train\n  fix:   leave one out\n",
    ),
    "train a.counts.digests --vocab 300": (
        2,
        "a.counts.digests is a file of document digests of slmtok count, not text",
    ),
    "train a.txt --vocab 300 --streaming": (2, "--streaming has no effect without a data set of Hugging Face\n"),
    "train a.txt --vocab 300 --cache-dir c": (2, "--cache-dir c has no effect without a data set of Hugging Face\n"),
    "count r.jsonl --document line -o x": (2, "--document line splits text files, and the corpus has none\n"),
    "count plain.txt.gz -o x": (1, "  where: plain.txt.gz\n  fix:   mv plain.txt.gz plain.txt\n"),
    "count zipped.zst -o x": (1, "'zipped.zst' is gzip data, and its name ends in .zst, which is compressed data\n"),
    "count a.txt link.txt -o x": (2, "'a.txt' and 'link.txt' are one file, named twice in the corpus\n"),
    "count a.txt hard.txt -o x": (2, "'a.txt' and 'hard.txt' are one file, named twice in the corpus\n"),
    "encode a.txt -t tok.json --output-format json": (2, "fix:   --json in its place\n"),
    "encode a.txt -t tok.json --allow-special=": (2, "error: --allow-special is empty\n"),
    "decode ids.npy -t tok.json --input-format bin": (2, "  where: ids.npy\n  fix:   --input-format npy\n"),
    "decode ids.npy -t tok.json --input-format ids": (2, "  where: ids.npy\n  fix:   --input-format npy\n"),
    "decode ids.npy.offsets.npy -t tok.json": (2, "is the document offsets of ids.npy, not ids\n"),
    "decode cut.json.ids.npy -t tok.json": (2, "is the map from old to new ids of cut.json, not ids\n"),
    "pack a.txt -t tok.json -o d --dropout-seed 4": (2, "error: --dropout-seed 4 has no effect without dropout\n"),
    "pack a.txt -t tok.json -o d --subset 1,1": (2, "fix:   --subset 1\n"),
    "info a.counts.digests": (2, "fix:   slmtok audit TOK --on TEXT --leak a.counts.digests\n"),
    "align folder folder --on a.txt": (1, "fix:   slm eval RUN --on TEXT --losses FILE writes one\n"),
    "train model --vocab 300 -o x": (2, "'model' is a model of Hugging Face, not text\n"),
    "report tok.json a.txt -o x.html": (1, "fix:   slmtok report tok.json -o x.html --on a.txt\n"),
    "report a.txt": (1, "fix:   slmtok report tok.json --on a.txt\n"),
    "diff tok.json a.txt": (
        1,
        "fix:   slmtok diff tok.json cut.json --on a.txt\n",
    ),
    "encode a.txt -t tok.json -t cut.json": (2, "error: --tokenizer is given 2 times\n"),
    "train a.txt --vocab 280 -o x -o y": (2, "error: --output is given 2 times\n"),
    "info ids.npy": (1, "ids.npy is a file of ids, not a file that slmtok info describes\n"),
    "info dead.json": (1, "fix:   slmtok prune TOK --ids dead.json -o FILE removes them\n"),
    "info page.html": (1, "fix:   open it in a browser\n"),
    "encode table.parquet -t tok.json": (2, "fix:   --format parquet, or --format text to read"),
    "--vocab 300 train a.txt": (2, "fix:   slmtok train a.txt --vocab 300\n"),
    "train a.txt --vocab 300 --temperature nan -o x": (2, "error: --temperature nan is out of range\n"),
    "prune tok.json --ids deep.json -o x": (1, "deep.json is not a list of ids\n"),
    "slice tok.json --vocab 275": (2, "fix:   slmtok slice tok.json --vocab 275 -o small.json\n"),
    "encode a.txt": (2, "fix:   slmtok encode a.txt -t tok.json\n"),
    "report tok.json --with a.txt -o p.html": (2, "fix:   leave a.txt out; slmtok eval"),
    "report tok.json -o p.pdf": (2, "fix:   -o p.html\n"),
    "export tok.json --output-format hf -o packed --no-verify --force": (1, "'packed' holds 'manifest.json'\n"),
    "export tok.json --output-format gguf -o x.gguf": (2, "fix:   --output-format hf -o x-hf, which converters to and"),
    "export tok.json --output-format hf -o packed.bin": (2, "fix:   -o packed-2\n"),
    "train --scheme word -o x": (2, "fix:   slmtok train CORPUS --scheme word -o x --vocab 8192\n"),
    "train --scheme byte -o x": (2, "fix:   slmtok train CORPUS --scheme byte -o x\n"),
    "set-special tok.json <|im_start|> <|im_end|> -o x": (
        2,
        "fix:   slmtok set-special tok.json 'im_start=<|im_start|>' 'im_end=<|im_end|>' -o x\n",
    ),
    "set-special tok.json user assistant -o x": (
        2,
        "fix:   slmtok set-special tok.json 'user=<|user|>' 'assistant=<|assistant|>' -o x\n",
    ),
    "set-special tok.json <|u|>=user <|a|>=assistant -o x": (
        2,
        "fix:   slmtok set-special tok.json 'user=<|u|>' 'assistant=<|a|>' -o x\n",
    ),
    "decode 1 2 -t tok.json --skip-special": (
        2,
        "fix:   printf %s '1 2' | slmtok decode - -t tok.json --skip-special\n",
    ),
    "decode 12 -t tok.json --skip-special": (
        1,
        "fix:   for ids: printf %s 12 | slmtok decode - -t tok.json --skip-special\n",
    ),
    "encode Once -t tok.json --bos": (1, "fix:   for text: printf %s Once | slmtok encode - -t tok.json --bos\n"),
    "encode tok.json --eos --text=abc": (2, "fix:   printf %s abc | slmtok encode - tok.json --eos\n"),
    "train a.txt,wide.txt --vocab 300 -o x": (2, "fix:   slmtok train a.txt wide.txt --vocab 300 -o x\n"),
    "eval tok.json --on a.txt,wide.txt": (2, "fix:   slmtok eval tok.json --on a.txt --on wide.txt\n"),
    "train a.txt --vocab 300 --scheme bpe word -o x": (
        2,
        "fix:   slmtok train a.txt --vocab 300 --scheme bpe -o x, and a command for each other value\n",
    ),
    "train a.txt --vocab 300 --scheme bpe,word -o x": (2, "fix:   --scheme bpe, and a command for each other value\n"),
    "train a.txt --vocab 300 --min-count 2,3 -o x": (2, "--min-count 2, and a command for each other value\n"),
    "sample-corpus --bytes 1,5MB -o x": (2, "fix:   --bytes 1.5MB\n"),
    "eval tok.json cut.json --on a.txt --json e.json": (
        2,
        "fix:   slmtok eval tok.json cut.json --on a.txt --json > e.json\n",
    ),
    "diff tok.json cut.json --json d.json": (2, "fix:   slmtok diff tok.json cut.json --json > d.json\n"),
    "bench --on a.txt --json e.json": (2, "fix:   slmtok bench --on a.txt --json > e.json\n"),
    "encode a.txt -t tok.json --json e.json": (2, "fix:   slmtok encode a.txt -t tok.json --json > e.json\n"),
    "show tok.json hello --json s.json": (2, "fix:   slmtok show tok.json hello --json > s.json\n"),
    "verify tok.json --json v.json": (2, "fix:   slmtok verify tok.json --json > v.json\n"),
    "vocab tok.json --json new/v.json": (
        2,
        "fix:   mkdir -p new && slmtok vocab tok.json --json > new/v.json\n",
    ),
    "count a.txt -o x --json dead.json": (
        2,
        "fix:   slmtok count a.txt -o x --json > dead-2.json; to read dead.json, name it before --json\n",
    ),
    "info tok.json --json dead.json": (2, "fix:   slmtok info tok.json --json > dead-2.json\n"),
    "info --json tk.json": (1, "fix:   check the name: there is 'tok.json'\n"),
    "exposure tok.json --on a.txt": (2, "fix:   slmtok pack a.txt -t tok.json -o data && slmtok exposure data\n"),
    "exposure a.txt -t tok.json --epochs 2": (
        2,
        "fix:   slmtok pack a.txt -t tok.json -o data && slmtok exposure data --epochs 2\n",
    ),
    "exposure packed --on a.txt": (2, "fix:   leave --on out: the text is that of the packed data\n"),
    "train r.jsonl --format josnl --vocab 280 -o x": (2, "fix:   --format jsonl\n"),
    "pack a.txt -t tok.json -o x --inference longst": (2, "fix:   --inference longest\n"),
    "pack a.txt -t tok.json -o x --inference dropout=20%": (2, "fix:   --inference dropout:0.2\n"),
    "pack a.txt -t tok.json -o x --inference fast": (
        2,
        "fix:   --inference merges, or --inference longest, or --inference dropout:0.1\n",
    ),
    "vocab tok.json --class number": (2, "fix:   --class digits\n"),
    "vocab tok.json --sort zzz": (2, "fix:   --sort id, or --sort bytes\n"),
    "count a.txt --document lines -o x": (2, "fix:   --document line\n"),
    "decode ids.npy -t tok.json --errors strct": (2, "fix:   --errors strict\n"),
    "train a.txt --vocab 280 --special <|endoftext|> -o x": (2, "fix:   --special 'eos=<|endoftext|>'\n"),
    "train a.txt vocab=280 output=x": (2, "fix:   slmtok train a.txt --vocab 280 --output x\n"),
    "train a.txt --vocab 1 000 --max-bytes 2 MB -o x": (
        2,
        "fix:   slmtok train a.txt --vocab 1000 --max-bytes 2MB -o x\n",
    ),
    "eval tok.json,cut.json --on a.txt,r.jsonl": (
        2,
        "fix:   slmtok eval tok.json cut.json --on a.txt --on r.jsonl\n",
    ),
    "pack a.txt -t tok.json -o x --val tial:5%": (2, "fix:   --val tail:5%\n"),
    "pack a.txt -t tok.json -o x --val nnoe": (2, "fix:   --val none\n"),
    "pack a.txt -t tok.json -o x --val xyz": (2, "fix:   --val auto, or --val none, or --val tail:10%\n"),
    "tokenise a.txt -t tok.json": (2, "fix:   slmtok encode a.txt -t tok.json\n"),
    "completion install": (2, "fix:   printf '%s\\n' 'eval \"$(slmtok completion bash)\"' >> ~/.bashrc\n"),
    "count a.txt --text-key review -o x": (2, "fix:   leave --text-key out\n"),
    "completion --install": (2, "fix:   printf '%s\\n' 'eval \"$(slmtok completion bash)\"' >> ~/.bashrc\n"),
    "train a.txt --vocb 280 -o x": (2, "fix:   use --vocab 280\n"),
    "train a.txt -vocab 280 -o x": (2, "fix:   slmtok train a.txt --vocab 280 -o x\n"),
    "train a.txt --vocb -o x": (2, "fix:   use --vocab N\n"),
    "train --alow-smaller a.txt --vocb=280 --pattern gpt2": (
        2,
        "fix:   slmtok train --allow-smaller a.txt --vocab 280 --pattern gpt2\n",
    ),
    "encode a.txt -t tok.json --output-fromat npyy -o x.npy": (2, "fix:   use --output-format npy\n"),
    "train a.txt --vocb 1k --alow-smaller": (2, "fix:   besides, --vocab takes an integer >= 0"),
    "show tok.json meta-llama/Llama-3.2-1B words": (
        1,
        "fetch the file first: hf download meta-llama/Llama-3.2-1B",
    ),
    "show tok.json gtp2 words": (1, "fix:   the public encoding gpt2, or the path of a tokenizer file; the rank file "),
    "import tik/gpt2.tiktoken -o x": (1, "fix:   check the name; paths are relative to the working folder\n"),
    "audit nano --on a.txt -o x": (2, "fix:   slmtok pack CORPUS -t nano/tok.json -o data, which is audited"),
    "exposure nano": (
        2,
        "error: 'nano' is in the layout nanogpt\n  limit: a folder that slmtok pack wrote in its own layout\n"
        "  fix:   slmtok pack CORPUS -t nano/tok.json -o data\n",
    ),
    "decode parts": (1, "train-00000.nb is missing, and so is train-00000.off\n"),
    "show tok.json Meta-AI/Llama-3": (
        0,
        "hf download Meta-AI/Llama-3 tokenizer.json --local-dir . && slmtok show tok.json ",
    ),
    "train a.txt --vocab 0.5k -o x": (2, "fix:   --vocab 500, or --vocab 512\n"),
    "train a.txt --vocab 1.1k -o x": (2, "fix:   --vocab 1100\n"),
    "train a.txt --vocab 1.1Ki -o x": (2, "not '1.1Ki', which is 1126.4\n"),
    "train a.txt --vocab 280 --pattern cl100kbase -o x": (2, "fix:   --pattern cl100k, or "),
    "show tok.json Hello there": (2, "fix:   slmtok show tok.json 'Hello there', if they are one text; else check"),
    "export tok.json tiktoken -o x": (2, "fix:   slmtok export tok.json -o x --output-format tiktoken\n"),
    "export tok.json cut.json --output-format hf -o x": (
        2,
        "--output-format hf -o x-tok && slmtok export cut.json --output-format hf -o x-cut\n",
    ),
    "info tok.json cut.json": (2, "fix:   slmtok info tok.json && slmtok info cut.json\n"),
    "encode a.txt tok.json cut.json": (
        2,
        "fix:   slmtok encode a.txt -t tok.json && slmtok encode a.txt -t cut.json\n",
    ),
    "train a*.tx --vocab 280": (1, "fix:   slmtok train 'a*.txt' --vocab 280 -o tok-2.json\n"),
}


def contents(folder: Path) -> dict[Path, bytes | None]:
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """The folder that each of `CASES` gets a copy of."""
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "a.txt").write_text("the cat sat on the mat " * 20)
    (folder / "folder").mkdir()
    (folder / "empty.txt").touch()
    (folder / "a.zip").write_bytes(b"PK\x03\x04" + bytes(40))
    (folder / "wide.txt").write_text("the cat", encoding="utf-16")
    (folder / "plain.txt.gz").write_text("the cat sat on the mat")
    (folder / "zipped.zst").write_bytes(gzip.compress(b"the cat sat on the mat"))
    (folder / "table.parquet").write_bytes(b"PAR1" + bytes(40))
    (folder / "model").mkdir()
    for name in ("config.json", "tokenizer.json"):
        (folder / "model" / name).write_text("{}")
    (folder / "dead.json").write_text('{"ids": [279]}')
    (folder / "deep.json").write_text("[" * 200_000)
    (folder / "page.html").write_text("<!DOCTYPE html>")
    (folder / "link.txt").symlink_to("a.txt")
    (folder / "r.jsonl").write_text('{"text": "the cat sat on the mat"}\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for line in (
            "count a.txt --doc-digests -o a.counts",
            "train a.txt --vocab 280 -o tok.json",
            "vocab tok.json --metadata -o vocab.json",
            "pack a.txt -t tok.json -o packed --val none",
            "pack a.txt -t tok.json -o nano --output-format nanogpt",
            "encode a.txt -t tok.json --output-format npy -o ids.npy",
            "slice tok.json --vocab 275 -o cut.json",
        ):
            assert main(line.split()) == 0
    (folder / "parts").mkdir()
    for name in ("manifest.json", "vocab.json", "tok.json", "train-00000.bin"):
        shutil.copy(folder / "packed" / name, folder / "parts")
    return folder


@pytest.mark.parametrize("line", CASES)
def test_the_message_names_the_cause(slmtok, inputs, tmp_path, line, monkeypatch):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    shutil.copytree(inputs, tmp_path, symlinks=True, dirs_exist_ok=True)
    (tmp_path / "hard.txt").hardlink_to(tmp_path / "a.txt")
    before = contents(tmp_path)
    ran = slmtok(*line.split())
    status, message = CASES[line]
    assert ran.code == status and message in ran.err, ran.err
    assert contents(tmp_path) == before


def test_what_is_not_text_is_encoded_where_it_is_asked_for(slmtok, tmp_path):
    (tmp_path / "a.txt").write_text("the cat sat on the mat " * 20)
    (tmp_path / "wide.txt").write_text("the cat", encoding="utf-16")
    assert slmtok("train", "a.txt", "--vocab", "272", "-o", "tok.json").code == 0
    as_text = slmtok("encode", "wide.txt", "-t", "tok.json", "--encoding", "utf-16")
    assert len(as_text.out.split()) == 7
    as_bytes = slmtok("encode", "wide.txt", "-t", "tok.json", "--format", "text")
    assert len(as_bytes.out.split()) == 16


def test_a_lost_vocab_json_is_named_and_its_fix_restores_it(slmtok, tmp_path):
    (tmp_path / "a.txt").write_text("the cat sat on the mat " * 20)
    assert slmtok("train", "a.txt", "--vocab", "280", "-o", "tok.json").code == 0
    assert slmtok("pack", "a.txt", "-t", "tok.json", "-o", "data").code == 0
    (tmp_path / "data/vocab.json").unlink()
    ran = slmtok("verify", "data")
    assert ran.code == 3 and "data: INVALID: data/vocab.json is missing\n" in ran.out
    fix = "slmtok vocab data/tok.json --metadata -o data/vocab.json"
    assert f"fix:   {fix}\n" in ran.out
    assert slmtok(*fix.split()[1:]).code == 0
    assert slmtok("verify", "data").code == 0


def test_a_replaced_tokenizer_of_packed_data_is_not_blamed_on_an_option(slmtok, tmp_path):
    (tmp_path / "a.txt").write_text("the cat sat on the mat " * 20)
    assert slmtok("train", "a.txt", "--vocab", "280", "-o", "tok.json").code == 0
    assert slmtok("slice", "tok.json", "--vocab", "275", "-o", "other.json").code == 0
    assert slmtok("pack", "a.txt", "-t", "tok.json", "-o", "data", "--val", "none").code == 0
    (tmp_path / "data/tok.json").write_bytes((tmp_path / "other.json").read_bytes())
    ran = slmtok("decode", "data")
    assert ran.code == 2
    assert "fix:   slmtok decode data -t TOK with that one; the tokenizer in the folder was replaced\n" in ran.err
    assert slmtok("decode", "data", "-t", "tok.json").code == 0
    ran = slmtok("decode", "data", "-t", "other.json")
    assert ran.code == 2 and "was packed with another tokenizer" in ran.err


def test_the_fix_of_a_missing_rank_file_installs_tiktoken(slmtok, tmp_path, monkeypatch):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("slmtok.formats.tiktoken.installed", lambda name: None)
    ran = slmtok("encode", "-", "-t", "gpt2", stdin=b"a")
    assert ran.code == 1 and 'fix:   pip install tiktoken && python -c "import tiktoken; ' in ran.err


def test_text_in_the_place_of_a_file(slmtok, tmp_path):
    (tmp_path / "a.txt").write_text("the cat")
    assert slmtok("train", "a.txt", "--vocab", "272", "-o", "tok.json").code == 0
    ran = slmtok("encode", "Hello world", "-t", "tok.json")
    assert ran.code == 1 and "fix:   for text: printf %s 'Hello world' | slmtok encode - -t tok.json" in ran.err


def test_a_subset_that_is_too_large_names_one_that_fits(slmtok, tmp_path):
    (tmp_path / "a.txt").write_text("the cat sat on the mat " * 20)
    assert slmtok("train", "a.txt", "--vocab", "280", "-o", "tok.json").code == 0
    ran = slmtok("pack", "a.txt", "-t", "tok.json", "--subset", "5", "-o", "data")
    assert ran.code == 2 and "fix:   --subset 1, or fewer\n" in ran.err
    assert slmtok("pack", "a.txt", "-t", "tok.json", "--subset", "1", "-o", "data").code == 0
    ran = slmtok("pack", "a.txt", "-t", "tok.json", "--output-format", "npy", "--chunk-size", "9999", "-o", "rows")
    assert ran.code == 2 and "error: --chunk-size 9999 is more than the" in ran.err


def test_what_is_taken_for_what_was_meant(slmtok, tmp_path):
    (tmp_path / "a.txt").write_text("the cat sat on the mat " * 20)
    assert slmtok("train", "a.txt", "--vocab", "280", "-o", "tok.json").code == 0
    assert slmtok("pack", "a.txt", "-t", "tok.json", "-o", "data").code == 0
    assert slmtok("slice", "tok.json", "--vocab", "275", "-o", "s-{vocab}.json").code == 0
    assert (tmp_path / "s-275.json").exists()
    assert slmtok("show", "data", "cat").out.startswith("data  bpe, 280 ids")
    assert (
        "note: 'a.txt' was taken as the text, and is the name of a file; slmtok show tok.json - < a.txt shows its text"
        in slmtok("show", "tok.json", "a.txt").err
    )
    for folder in ("data", "run"):
        (tmp_path / "run").mkdir(exist_ok=True)
        (tmp_path / "run/tok.json").write_bytes((tmp_path / "tok.json").read_bytes())
        assert slmtok("audit", folder, "--on", "a.txt", "-o", f"{folder}.audit.json").code == 0


def test_packing_notes_a_domain_that_no_file_belongs_to(slmtok, tmp_path):
    (tmp_path / "a.txt").write_text("the cat sat on the mat " * 20)
    assert slmtok("train", "a.txt", "--vocab", "280", "-o", "tok.json").code == 0
    ran = slmtok("pack", "a.txt", "-t", "tok.json", "--domain", "web=wiki*", "-o", "data")
    assert ran.code == 0 and "note: domain 'web' has no document: --domain 'web=wiki*' matches no file" in ran.err
    ran = slmtok("pack", "a.txt", "-t", "tok.json", "--domain", "web=*.txt", "-o", "other")
    assert ran.code == 0 and "has no document" not in ran.err


def test_text_is_not_checked_and_not_called_a_broken_tokenizer(slmtok, tmp_path):
    (tmp_path / "a.txt").write_text("the cat sat on the mat ")
    ran = slmtok("verify", "a.txt")
    assert ran.code == 1
    assert ran.out.startswith("a.txt: NOT CHECKED: a.txt is text, which records nothing that can be checked\n")
    (tmp_path / "a.jsonl").write_text('{"text": "the cat sat on the mat"}\n' * 20)
    assert slmtok("train", "a.txt", "a.jsonl", "--vocab", "275", "-o", "tok.json").code == 0
    assert slmtok("pack", "a.jsonl", "-t", "tok.json", "-o", "data").code == 0
    ran = slmtok("verify", "data", "a.jsonl")
    assert ran.code == 1 and "a.jsonl: NOT CHECKED: a.jsonl is a corpus, which records nothing" in ran.out
    assert "fix:   slmtok audit data --on a.jsonl proves" in ran.out
    assert slmtok("audit", "data", "--on", "a.jsonl").code == 0


@pytest.mark.parametrize("command", ["show", "view"])
def test_a_text_that_names_a_file_or_a_tokenizer_is_said_with_the_whole_command(slmtok, tmp_path, command):
    (tmp_path / "a.txt").write_text("the cat sat on the mat " * 20)
    assert slmtok("train", "a.txt", "--vocab", "280", "-o", "tok.json").code == 0
    output = ["-o", "x.html"] if command == "view" else []
    options = " -o x.html --force" if command == "view" else ""
    ran = slmtok(command, "tok.json", "gpt4", *output)
    line = f"slmtok {command} tok.json gpt-4{options}"
    assert ran.code == 0 and f"note: 'gpt4' is taken as text; with the tokenizer: {line}\n" in ran.err
    ran = slmtok(command, "-t", "tok.json", "a.txt", *(output and ["-o", "y.html"]))
    line = f"slmtok {command} -t tok.json -{options.replace('x', 'y')} < a.txt"
    assert (
        ran.code == 0
        and f"note: 'a.txt' was taken as the text, and is the name of a file; {line} shows its text\n" in ran.err
    )


def test_a_page_that_was_just_written_is_replaced(slmtok, tmp_path):
    (tmp_path / "a.txt").write_text("the cat sat on the mat " * 20)
    assert slmtok("train", "a.txt", "--vocab", "280", "-o", "tok.json").code == 0
    for line in ("view tok.json a.txt", "view tok.json a.txt --force", "show --ids tok.json a.txt"):
        note = slmtok(*line.split()).err.splitlines()[-1]
        command = note.partition("; ")[2].removesuffix(" shows its text")
        assert command.endswith(" < a.txt") and ("--force" in command) == (line[:4] == "view")
        assert "--ids" not in line or "--ids" in command
        ran = slmtok(*command.removesuffix(" < a.txt").split()[1:], stdin=(tmp_path / "a.txt").read_bytes())
        assert ran.code == 0, ran.err


def test_one_pasted_command_repairs_every_value(slmtok, tmp_path):
    (tmp_path / "a.txt").write_text("the cat sat on the mat " * 20)
    assert slmtok("train", "a.txt", "--vocab", "280", "-o", "tok.json").code == 0
    ran = slmtok("encode", "a.txt", "-t", "tok.json", "--allow-special", "<|x|>,eos,<|y|>", "--allow-special", "z")
    fix = ran.err.splitlines()[-1].removeprefix("  fix:   ")
    assert fix.startswith("slmtok set-special tok.json 'x=<|x|>' 'y=<|y|>' 'z=<|z|>' -o with-special.json")
    ran = slmtok("train", "a.txt", "--vocab", "280", "-o", "b.json", "--special", "<|x|>", "--special=y")
    assert ran.err.endswith("fix:   --special 'x=<|x|>' --special 'y=<|y|>'\n")
    ran = slmtok("train", "a.txt", "--vocab", "280", "--allow-special", "<|x|>", "--allow-special=<|y|>")
    assert ran.err.endswith("--vocab 280 --special 'x=<|x|>' --special 'y=<|y|>'\n")


def test_options_stay_in_a_command_with_another_size_or_file(slmtok, tmp_path):
    (tmp_path / "a.txt").write_text("the cat sat on the mat " * 20)
    line = ["train", "a.txt", "--vocab", "9", "--vocab-size=10", "--vocab", "4096", "--allow-smaller", "-o", "b.json"]
    fix = "slmtok train a.txt --vocab 8192 --vocab-size=16384 --vocab 4096 --allow-smaller -o b.json"
    assert slmtok(*line).err.splitlines()[-1].removeprefix("  fix:   ") == fix
    assert slmtok(*fix.split()[1:]).code == 0


def test_parquet_on_stdin_is_a_file_that_is_named(slmtok, tmp_path):
    for line in (["count", "-"], ["encode", "-", "-t", "gpt2"]):
        ran = slmtok(*line, stdin=b"PAR1" + bytes(20))
        assert ran.code == 2 and "fix:   name a .parquet file, uncompressed; cat > FILE.parquet saves stdin" in ran.err


def test_an_audit_of_another_text_is_not_taken_for_another_reading(slmtok, tmp_path):
    (tmp_path / "a.txt").write_text("the cat.\n\nsat on the mat.\n\n" * 20)
    (tmp_path / "b.txt").write_text("the cat.")
    assert slmtok("train", "a.txt", "--vocab", "280", "-o", "tok.json").code == 0
    assert slmtok("pack", "a.txt", "-t", "tok.json", "-o", "data", "--separator", "\n\n").code == 0
    assert "packed with --separator" in slmtok("audit", "data", "--on", "a.txt", "-o", "x").err
    assert "it is not the one that was packed" in slmtok("audit", "data", "--on", "b.txt", "-o", "y").err


def test_a_lock_names_the_folder_of_a_file_that_was_given(slmtok, tmp_path):
    (tmp_path / "a.txt").write_text("the cat sat on the mat " * 20)
    assert slmtok("train", "a.txt", "--vocab", "280", "-o", "tok.json").code == 0
    (tmp_path / "old").mkdir()
    (tmp_path / "a.txt").rename("old/a.txt")
    ran = slmtok("reproduce", "tok.lock", "--corpus", "old/a.txt")
    assert ran.code == 2 and ran.err.endswith("fix:   slmtok reproduce tok.lock --corpus old\n")
    assert slmtok("reproduce", "tok.lock", "--corpus", "old").code == 0
    assert slmtok("reproduce", "tok.lock", "--corpus", "old/other").err.endswith("--corpus old\n")
    (tmp_path / "old/a.txt").rename("old/b.txt")
    (tmp_path / "old/c.txt").write_text("another text")
    for corpus in ("old/b.txt", "old"):
        ran = slmtok("reproduce", "tok.lock", "--corpus", corpus)
        copy, again = ran.err.splitlines()[-1].removeprefix("  fix:   ").split(" && ")
        assert (copy, again) == ("cp old/b.txt old/a.txt", "slmtok reproduce tok.lock --corpus old")
    (tmp_path / "old/a.txt").write_bytes((tmp_path / "old/b.txt").read_bytes())
    assert slmtok(*again.split()[1:]).code == 0


@pytest.mark.skipif(sys.platform == "win32", reason="/dev/zero is of Unix")
def test_what_is_read_whole_has_a_limit(slmtok, tmp_path):
    (tmp_path / "a.txt").write_text("the cat sat on the mat " * 20)
    ran = slmtok("train", "a.txt", "--require", "/dev/zero", "--vocab", "280", "-o", "x")
    assert ran.code == 2 and "/dev/zero is too large for a list of tokens\n" in ran.err
    assert slmtok("train", "a.txt", "--vocab", "280", "-o", "tok.json").code == 0
    ran = slmtok("show", "tok.json", "-", stdin=bytes((64 << 20) + 1))
    assert ran.code == 2 and "error: the text has more than 67,108,864 bytes\n" in ran.err


def test_the_size_of_a_number_of_stories(slmtok, tmp_path):
    fix = slmtok("sample-corpus", "--docs", "300", "-o", "s.txt").err.partition("fix:   use ")[2]
    ran = slmtok("sample-corpus", *shlex.split(fix.partition(",")[0]), "-o", "s.txt", "--json")
    assert abs(ran.json["result"]["documents"] - 300) < 30


def test_counts_and_sizes_have_one_reader(slmtok, tmp_path):
    (tmp_path / "a.txt").write_text("the cat sat on the mat " * 20)
    line = ["train", "a.txt", "--vocab", "2,74", "--max-docs", "100,000", "--max-bytes", "1,000", "-o"]
    assert slmtok(*line, "x.json").code == 2
    line[3] = "0,274"
    assert slmtok(*line, "x.json").code == 0
    assert slmtok("sample-corpus", "--bytes", "10,000", "--seed", "1,000", "-o", "s.txt").code == 0
    for wrong in ("100,00", "1,2"):
        assert slmtok("count", "a.txt", "--max-docs", wrong, "-o", "x").code == 2


def test_quiet_keeps_results_and_omits_the_summary_of_what_was_written(slmtok, tmp_path):
    (tmp_path / "a.txt").write_text("the cat sat on the mat " * 20)
    assert slmtok("train", "a.txt", "--vocab", "280", "-o", "tok.json", "-q").out == ""
    assert slmtok("slice", "tok.json", "--vocab", "275", "-o", "cut.json", "-q").out == ""
    for line in ("eval tok.json --on a.txt", "diff tok.json cut.json", "info tok.json"):
        assert slmtok(*line.split(), "-q").out == slmtok(*line.split()).out != ""


def test_a_lock_finds_its_corpus_by_content(slmtok, tmp_path):
    (tmp_path / "lk").mkdir()
    text = "the cat sat on the mat " * 20
    (tmp_path / "lk/a.txt").write_text(text)
    assert slmtok("train", "lk/a.txt", "--vocab", "280", "-o", "lk/tok.json").code == 0
    (tmp_path / "lk/raw").mkdir()
    (tmp_path / "lk/a.txt").rename(tmp_path / "lk/raw/a.txt")
    (tmp_path / "a.txt").write_text(text + "another")
    fix = slmtok("reproduce", "lk/tok.lock").err.rpartition("fix:   slmtok ")[2]
    assert fix == "reproduce lk/tok.lock --corpus lk/raw\n"
    assert slmtok(*fix.split()).code == 0
    (tmp_path / "lk/raw/a.txt").unlink()
    assert "--corpus FOLDER, where a.txt lies now" in slmtok("reproduce", "lk/tok.lock").err


RECORDS = {
    "csv": (b"label,review\npos,a good film\nneg,a bad film\n", ["--text-key", "review"]),
    "tsv": (b"a\tx\nb\ty\n", ["--text-key", "2"]),
    "jsonl": (b'{"review": "a good film"}\n', ["--text-template", "{review}"]),
}


@pytest.mark.parametrize("kind", RECORDS)
def test_records_without_a_name_are_read_as_what_they_look_like(slmtok, tmp_path, kind):
    data, options = RECORDS[kind]
    (tmp_path / "a.txt").write_text("the cat sat on the mat " * 20)
    (tmp_path / "records.txt").write_bytes(data)
    assert slmtok("train", "a.txt", "--vocab", "280", "-o", "tok.json").code == 0
    for line in (
        ["count", "-", "-o", "x.counts"],
        ["encode", "-", "-t", "tok.json"],
        ["eval", "tok.json", "--on", "-"],
    ):
        assert f"fix:   --format {kind}\n" in slmtok(*line, *options, stdin=data).err
        assert slmtok(*line, *options, "--format", kind, stdin=data).code == 0
    assert f"fix:   --format {kind}\n" in slmtok("count", "records.txt", *options, "-o", "y").err
    err = slmtok("count", "-", "-o", "z", *options, stdin=gzip.compress(data)).err
    assert ": gzip -dc | slmtok count - -o z" in err and " --format jsonl\n" in err


def test_the_ids_of_a_fix_go_to_a_file_that_does_not_exist(slmtok, tmp_path):
    (tmp_path / "a.txt").write_text("the cat sat on the mat " * 20)
    (tmp_path / "prune-ids.txt").write_text("273\n")
    assert slmtok("train", "a.txt", "--vocab", "280", "-o", "tok.json").code == 0
    assert "278 279 > prune-ids-2.txt && slmtok prune tok.json --ids prune-ids-2.txt -o x\n" in (
        slmtok("prune", "tok.json", "--ids", "278,279", "-o", "x").err
    )


def test_a_corpus_after_json_is_read(slmtok, tmp_path):
    (tmp_path / "a.txt").write_text("the cat sat on the mat " * 20)
    (tmp_path / "b.txt").write_text("the dog sat by the door " * 20)
    assert slmtok("count", "--json", "a.txt", "b.txt", "-o", "x.counts").code == 0
    assert slmtok("train", "a.txt", "--vocab", "280", "-o", "tok.json").code == 0
    assert slmtok("encode", "--json", "tok.json", "a.txt").code == 0
    assert "no file or folder 'c.txt'" in slmtok("count", "--json", "c.txt", "a.txt", "-o", "y.counts").err


def test_an_empty_split_is_mended_by_the_note(slmtok, tmp_path):
    (tmp_path / "a.txt").write_text("the cat sat on the mat " * 20)
    (tmp_path / "r.jsonl").write_text('{"text": "the cat"}\n' * 5)
    assert slmtok("train", "a.txt", "--vocab", "280", "-o", "tok.json").code == 0
    err = slmtok("pack", "r.jsonl", "-t", "tok.json", "--val", "hash:0.0001%", "-o", "d").err
    assert "d has no val documents; --val tail:10% --force makes some\n" in err
    assert slmtok("pack", "r.jsonl", "-t", "tok.json", "-o", "d", "--val", "tail:10%", "--force").code == 0
    assert (tmp_path / "d/val-00000.bin").exists()
    (tmp_path / "one.jsonl").write_text('{"text": "the cat"}\n')
    for corpus, ways in (("one.jsonl", ""), ("a.txt", " or --separator STRING --force")):
        err = slmtok("pack", corpus, "-t", "tok.json", "--val", "hash:0.0001%", "-o", f"{corpus}-packed").err
        assert f"-packed has no val documents; --val tail:10% --force{ways} makes some\n" in err


def test_the_folder_of_a_file_of_a_layout_has_its_tokenizer(slmtok, tmp_path):
    (tmp_path / "a.txt").write_text("the cat sat on the mat " * 20)
    assert slmtok("train", "a.txt", "--vocab", "280", "-o", "tok.json").code == 0
    assert slmtok("slice", "tok.json", "--vocab", "275", "-o", "other.json").code == 0
    line = ["pack", "a.txt", "-t", "tok.json", "-o", "nano", "--output-format", "nanogpt", "--val", "none"]
    assert slmtok(*line).code == 0
    for data in ("nano", "nano/train.bin"):
        ran = slmtok("decode", data, "-t", "other.json")
        assert ran.code == 2
        assert "fix:   leave --tokenizer out: the folder contains the right one\n" in ran.err
        assert slmtok("decode", data).code == 0
    (tmp_path / "nano/tok.json").unlink()
    ran = slmtok("decode", "nano/train.bin", "-t", "other.json")
    assert ran.code == 2 and "the tokenizer in the folder was lost\n" in ran.err


def test_packed_data_of_another_layout_are_no_other_files(slmtok, tmp_path):
    (tmp_path / "a.txt").write_text("the cat sat on the mat " * 20)
    assert slmtok("train", "a.txt", "--vocab", "280", "-o", "tok.json").code == 0
    line = ["pack", "a.txt", "-t", "tok.json", "--val", "none", "-o"]
    for name in ("nanogpt", "slm"):
        assert slmtok(*line, name, "--output-format", name).code == 0
    for name, other in (("nanogpt", "slm"), ("nanogpt", "npy"), ("slm", "nanogpt")):
        ran = slmtok(*line, name, "--output-format", other)
        assert ran.code == 1
        assert f"error: output {name!r} already holds packed data\n" in ran.err
        assert f"limit: packed with --output-format {name}, now --output-format {other}\n" in ran.err
        fix = f"fix:   --force to replace it, with --output-format {name} as before, or name another --output\n"
        assert fix in ran.err
    assert slmtok(*line, "slm", "--output-format", "slm", "--force").code == 0
    assert slmtok(*line, "nanogpt", "--force").code == 0
