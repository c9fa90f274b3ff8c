#!/usr/bin/env bash
# The unsafe parts of the engine under Miri, and all its tests under AddressSanitizer; says what is missing.
# Miri runs tests/unsafe_parts.rs in the tiers AVX2 and portable, with AES; it is too slow for more, and knows neither the compressions
# of AVX-512 nor maps of files nor advice on pages. The sanitizer runs everything. Both need the nightly toolchain, and build in
# target/sanitize.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}/sanitize
package=(--locked --package slmtok-core --features testing)
host=$(rustc -vV | sed -n 's/^host: //p')

if ! cargo +nightly --version >/dev/null 2>&1; then
  echo 'not sanitized: nightly Rust is missing; rustup toolchain install nightly' >&2
  exit 1
fi

if cargo +nightly miri --version >/dev/null 2>&1; then
  echo 'Miri: tests/unsafe_parts.rs'
  features=
  [[ $host == x86_64-* ]] && features='-Ctarget-feature=+aes,+avx2,+bmi1,+bmi2,+lzcnt,+popcnt'
  RUSTFLAGS=$features MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test --quiet "${package[@]}" --test unsafe_parts
else
  echo 'not run: Miri is missing; rustup component add --toolchain nightly miri rust-src' >&2
fi

case $host in
  x86_64-unknown-linux-gnu | aarch64-unknown-linux-gnu | x86_64-apple-darwin | aarch64-apple-darwin)
    echo 'AddressSanitizer: all tests'
    # A test asks for more memory than there are addresses, and looks whether that is told.
    ASAN_OPTIONS=allocator_may_return_null=1${ASAN_OPTIONS:+:$ASAN_OPTIONS} RUSTFLAGS=-Zsanitizer=address cargo +nightly test --quiet "${package[@]}" --target "$host" --lib --tests ;;
  *) echo "not run: there is no AddressSanitizer for $host" >&2 ;;
esac
