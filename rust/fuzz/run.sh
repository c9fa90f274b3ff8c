#!/usr/bin/env bash
# Runs each fuzz target for SECONDS (default 30), or says what is missing; without a fuzzer the regressions still run.
# Usage: run.sh [SECONDS]
set -euo pipefail
cd "$(dirname "$0")"
seconds=${1:-30}

echo 'regressions, on stable Rust:'
cargo test --quiet

if ! rustup run nightly rustc --version >/dev/null 2>&1; then
  echo 'not fuzzed: nightly Rust is missing; rustup toolchain install nightly' >&2
  exit 1
fi
if ! cargo fuzz --version >/dev/null 2>&1; then
  echo 'not fuzzed: cargo-fuzz is missing; cargo install cargo-fuzz' >&2
  exit 1
fi
for target in fuzz_targets/*.rs; do
  name=$(basename "$target" .rs)
  echo "fuzzing $name for $seconds s"
  cargo +nightly fuzz run --fuzz-dir . --features fuzz "$name" -- -max_total_time="$seconds" -max_len=4096
done
