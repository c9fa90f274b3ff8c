#!/usr/bin/env bash
# Runs the unsafe code of the engine under Miri and all its tests under AddressSanitizer; names what is not installed.
# Miri runs tests/unsafe_parts.rs at the levels AVX2 and portable, with AES: it is too slow for more, and supports neither the
# compress instructions of AVX-512, nor mapped files, nor madvise. Both need nightly Rust and build in target/sanitize.
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
    # A test requests more memory than the address space and expects an error.
    ASAN_OPTIONS=allocator_may_return_null=1${ASAN_OPTIONS:+:$ASAN_OPTIONS} RUSTFLAGS=-Zsanitizer=address cargo +nightly test --quiet "${package[@]}" --target "$host" --lib --tests ;;
  *) echo "not run: AddressSanitizer does not support $host" >&2 ;;
esac
