#!/usr/bin/env bash
# The quickstart guide as a script. `slmtok` and `slm` must be on the PATH.
# quickstart.sh tokenizer FOLDER   stories, a tokenizer, its token boundaries, text to ids and back to the same bytes
# quickstart.sh model FOLDER       a small model, trained on stories for at most 60 seconds
# quickstart.sh activate           how to use the commands in a shell
set -euo pipefail

stage=${1:?tokenizer, model or activate}
folder=${2:-quickstart}
case $stage in
  tokenizer | model | activate) ;;
  *)
    printf 'quickstart.sh: no stage %s: tokenizer, model or activate\n' "$stage" >&2
    exit 2
    ;;
esac

if [[ $stage == activate ]]; then
  printf '\nTo use slmtok and slm in this shell:\n\n  source .venv/bin/activate\n\nThen: slmtok --help, slm --help, docs/guide/quickstart.md\n'
  exit
fi
mkdir -p "$folder"
cd "$folder"

step() { printf '\n\033[1m%s\033[0m\n' "# $1"; }
show() {
  printf '$ %s\n' "$*"
  "$@"
}

if [[ $stage == model ]]; then
  step 'A model: trained on stories of six plots for 60 seconds, scored on held-out stories, and samples.'
  show slm demo -o model --budget time=60s --force
  printf '\nAll files are in %s/.\n' "$folder"
  exit
fi

step 'A corpus: generated stories. Any text file works as well.'
show slmtok sample-corpus --bytes 5MB -o stories.txt --force --quiet
printf '\n'
head -n 12 stories.txt | fold -s -w 100

step 'Train a tokenizer of 4,096 ids: 16 specials, 256 bytes, and merges of frequent pairs.'
show slmtok train stories.txt --vocab 4096 -o tok.json --force

step 'Its token boundaries on an unseen text.'
show slmtok show tok.json 'Once upon a time, 42 penguins rode a bicycle to Zürich. 🚲'

step 'Text to ids, and ids to text: the same bytes.'
printf 'The little fox was not afraid any more.\n' >line.txt
show slmtok encode line.txt -t tok.json -o line.ids --force
cat line.ids
show slmtok decode line.ids -t tok.json

step 'Encode and decode all 5 MB.'
slmtok encode stories.txt -t tok.json -o stories.ids --force --quiet
slmtok decode stories.ids -t tok.json -o again.txt --force --quiet
cmp stories.txt again.txt && echo 'equal to the byte'

step 'Verify the tokenizer file.'
show slmtok verify tok.json
