#!/usr/bin/env bash
# Builds the core for AArch64 without warnings and runs its tests under qemu, NEON code included. For Debian 12 on x86-64: its
# `rustc-web` compiles, because the standard library of that compiler is available for arm64; cargo is the installed one.
set -euo pipefail
cd "$(dirname "$0")/.."
target=aarch64-unknown-linux-gnu
rustc=${AARCH64_RUSTC:-/usr/bin/rustc}

missing() {
  printf 'not run: %s\n' "$1" >&2
  echo 'on Debian 12: dpkg --add-architecture arm64 && apt update && apt install rustc-web libstd-rust-web-dev:arm64 gcc-aarch64-linux-gnu qemu-user-static' >&2
  exit 1
}

for tool in cargo aarch64-linux-gnu-gcc qemu-aarch64-static "$rustc"; do
  command -v "$tool" >/dev/null || missing "$tool is missing"
done
[[ -d $("$rustc" --print target-libdir --target $target) ]] || missing "$rustc has no standard library for $target"

# Static: under qemu 7.2, threads of a program that loads its C library from the cross packages do not start.
export RUSTC=$rustc RUSTFLAGS='-D warnings -C target-feature=+crt-static' CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}/aarch64
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=qemu-aarch64-static
cargo test --locked --package slmtok-core --features testing --target $target --lib --tests "$@"
