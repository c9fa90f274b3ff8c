#!/usr/bin/env bash
# The first ten minutes in one: stories, a tokenizer, a look at it, text to ids and the same bytes back, and a small model
# that has learned to write such stories.
# Usage: quickstart.sh [FOLDER]   (default: quickstart). `slmtok` and `slm` must be on the PATH.
set -euo pipefail

folder=${1:-quickstart}
mkdir -p "$folder"
cd "$folder"

step() { printf '\n\033[1m%s\033[0m\n' "# $1"; }
show() {
  printf '$ %s\n' "$*"
  "$@"
}

step 'A corpus: simple stories, made here from a seed. Any text of yours does as well.'
show slmtok sample-corpus --bytes 5MB -o stories.txt --force --quiet
printf '\n'
head -n 12 stories.txt | fold -s -w 100

step 'Learn 4,096 ids from it: 16 specials, 256 bytes, the rest merges of frequent neighbours.'
show slmtok train stories.txt --vocab 4096 -o tok.json --force

step 'How it cuts a text that it has never seen.'
show slmtok show tok.json 'Once upon a time, 42 penguins rode a bicycle to Zürich. 🚲'

step 'Text to ids, and ids to text: the same bytes.'
printf 'The little fox was not afraid any more.\n' >line.txt
show slmtok encode line.txt -t tok.json -o line.ids --force
cat line.ids
show slmtok decode line.ids -t tok.json

step 'All five megabytes there and back.'
slmtok encode stories.txt -t tok.json -o stories.ids --force --quiet
slmtok decode stories.ids -t tok.json -o again.txt --force --quiet
cmp stories.txt again.txt && echo 'equal, byte for byte'

step 'The file checks itself.'
show slmtok verify tok.json

step 'A model: trained on such stories of six plots, scored on stories kept apart, and writing some (under three minutes on two cores).'
show slm demo -o model --force

printf '\nAll of it is in %s/. Next: README.md, docs/guide/quickstart.md\n' "$folder"
