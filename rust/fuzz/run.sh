#!/usr/bin/env bash
# Replays the regressions, then runs each fuzz target for SECONDS (default 30); exits 1 if the fuzzer is not installed.
# Findings are written to artifacts/TARGET/, inputs with new coverage to corpus/TARGET/; neither is committed.
# Usage: run.sh [SECONDS [TARGET...]]
set -euo pipefail
cd "$(dirname "$0")"
seconds=${1:-30}
targets=("${@:2}")
[[ ${#targets[@]} -gt 0 ]] || for file in fuzz_targets/*.rs; do targets+=("$(basename "$file" .rs)"); done

echo 'regressions, on stable Rust:'
cargo test --quiet --locked -p slmtok-fuzz

if ! rustup run nightly rustc --version >/dev/null 2>&1; then
  echo 'not fuzzed: nightly Rust is missing; rustup toolchain install nightly' >&2
  exit 1
fi
if ! cargo fuzz --version >/dev/null 2>&1; then
  echo 'not fuzzed: cargo-fuzz is missing; cargo install cargo-fuzz' >&2
  exit 1
fi
# A program that runs for seconds is not worth the optimization across crates of a release.
export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
for target in "${targets[@]}"; do
  echo "fuzzing $target for $seconds s"
  mkdir -p "corpus/$target"
  cargo +nightly fuzz run --fuzz-dir . --features fuzz "$target" "corpus/$target" regressions -- \
    -dict=dictionary -max_total_time="$seconds" -max_len=2048 -timeout=60
done
