#!/usr/bin/env bash
# Parquet to a model with Infini-attention: train, kill -9, resume, status, passkeys, curves. Runs in an empty folder.
#   examples/long-context/run.sh             about a quarter of an hour on two cores
#   STEPS=40 BYTES=200kB examples/long-context/run.sh    a minute: shows the commands, trains no useful model
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
size=(${STEPS:+--budget "steps=$STEPS" --set run.save_every=10} ${BATCH:+--set "run.batch_tokens=$BATCH"})

# A folder of parquet files and a tokenizer. With data of your own: put the files into parquet/.
slmtok sample-corpus --bytes "${BYTES:-10MB}" -o corpus.txt
python - <<'PYTHON'
from pathlib import Path
import pyarrow as pa, pyarrow.parquet as pq

stories = [story for story in Path("corpus.txt").read_text().split("\n\n") if story.strip()]
Path("parquet").mkdir(exist_ok=True)
for part in range(4):
    pq.write_table(pa.table({"text": stories[part::4]}), f"parquet/{part}.parquet")
PYTHON
slmtok train parquet --vocab "${VOCAB:-1536}" --allow-smaller -o tok.json

# What would be trained, before it is paid.
slm config --check "$here/run.yaml" "${size[@]}"

# Train; the process is killed once the first checkpoint is there.
slm train --config "$here/run.yaml" -o run "${size[@]}" --no-eval &
trainer=$!
until compgen -G "run/checkpoints/step-*/SHA256SUMS" > /dev/null || ! kill -0 $trainer 2> /dev/null; do sleep 0.2; done
kill -9 $trainer 2> /dev/null || true
wait $trainer 2> /dev/null || true
slm status run || echo "slm status: exit status $?"

# Continue to the same bits as without the kill.
slm resume run
slm status run

# Does the memory retrieve? The same tasks with and without it.
slm passkey run --lengths "${LENGTHS:-512,1K}" --depths 0,50,100 --samples "${SAMPLES:-10}" --plot passkey.png
slm passkey run --lengths "${LENGTHS:-512,1K}" --depths 0,50,100 --samples "${SAMPLES:-10}" --ignore-memory
slm plot run -o curves.svg
