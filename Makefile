# Development targets of slmtok; `make` alone lists them. Needs Python 3.10 or newer, stable Rust and make.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
CARGO ?= cargo
VENV := $(CURDIR)/.venv
BIN := $(VENV)/bin
PY := $(BIN)/python

# The binding is built against this interpreter by every cargo command, so that they share their artefacts.
export PYO3_PYTHON := $(PY)
export VIRTUAL_ENV := $(VENV)
export PIP_QUIET := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Python compiles the modules that are imported; compiling all of PyTorch and its like takes half a minute.
export PIP_COMPILE := 0
# Without bytecode, each of the hundreds of commands that the tests start would compile the packages again.
unexport PYTHONDONTWRITEBYTECODE

# Feature of the engine that exposes internals to tests and instruction counts.
TESTING := slmtok-core/testing

RUST_FILES := $(shell find rust -path rust/fuzz -prune -o \( -name '*.rs' -o -name Cargo.toml \) -print)

.PHONY: faults fuzz-files test-oldest help setup built cargo install quickstart test rust check check-rust check-python rust-test python-test wheel bench bench-record fuzz sanitize test-aarch64 instructions instructions-accept docs clean

help: ## list the targets
	@echo 'slmtok: train, use and prove byte-level tokenizers'
	@echo
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-20s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# Compiling and downloading run in parallel.
setup: cargo ## create .venv with the tools of tests and benchmarks; build and install the package into it
	@$(MAKE) -j2 built

cargo:
	@command -v $(CARGO) >/dev/null || { echo 'error: cargo not found; install stable Rust from https://rustup.rs' >&2; exit 1; }

built: $(VENV)/.built
	@:

$(VENV)/.maturin: pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo 'error: $(PYTHON) not found; set PYTHON=/path/to/python3.10-or-newer' >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "error: $$($(PYTHON) --version 2>&1) is too old; slmtok needs Python 3.10 or newer: make PYTHON=python3.12 setup" >&2; exit 1; }
	@[[ -x $(PY) ]] || $(PYTHON) -m venv $(VENV) || { \
	  echo 'error: no virtual environment could be made; on Debian and Ubuntu: apt install python3-venv' >&2; exit 1; }
	$(PY) -m pip install --upgrade 'pip>=25.1'
	$(PY) -m pip install --group build
	@touch $@

$(VENV)/.tools: $(VENV)/.maturin
	$(PY) -m pip install --group test --group bench
	@touch $@

# Python sources are installed in place; only the engine is compiled.
$(VENV)/.engine: $(VENV)/.maturin Cargo.toml Cargo.lock $(RUST_FILES) | cargo
	$(BIN)/maturin develop --release --quiet --skip-install
	@touch $@

$(VENV)/.built: $(VENV)/.tools $(VENV)/.engine
	$(BIN)/maturin develop --release --quiet
	@touch $@

# The engine and what it needs at run time: neither torch nor the tools of tests. In one call: no other one of pip runs.
$(VENV)/.tokenizer: $(VENV)/.maturin Cargo.toml Cargo.lock $(RUST_FILES)
	$(BIN)/maturin develop --release --quiet
	@touch $@

$(VENV)/.model: $(VENV)/.tokenizer
	$(BIN)/maturin develop --release --quiet --extras model
	@touch $@

install: ## create .venv with slmtok and slmmodel, without the tools of tests
	@echo 'Installing slmtok and slmmodel into .venv: the engine is compiled (about 2 minutes), PyTorch is downloaded (5 GB on Linux).'
	@$(MAKE) $(VENV)/.model
	@examples/quickstart.sh activate

quickstart: ## train a tokenizer, then a small model, on generated stories; at most 60 seconds of training
	@echo 'Stage 1 of 2, about 2 minutes on two cores: compile the engine, then train a tokenizer.'
	@command -v $(CARGO) >/dev/null || { echo 'error: cargo not found; install stable Rust from https://rustup.rs' >&2; exit 1; }
	@$(MAKE) $(VENV)/.tokenizer
	@PATH="$(BIN):$$PATH" examples/quickstart.sh tokenizer quickstart
	@printf '\nStage 2 of 2, about 4 minutes: install PyTorch (a download of some gigabytes on Linux), then train a model for 60 seconds.\n'
	@$(MAKE) $(VENV)/.model
	@PATH="$(BIN):$$PATH" examples/quickstart.sh model quickstart
	@examples/quickstart.sh activate

# What concerns Rust alone needs only the engine: it begins while pip installs PyTorch, and goes on beside mypy.
test: cargo ## everything: checks, Rust tests, Python tests, README, wheel
	@$(MAKE) -j2 rust check-python
	@$(MAKE) python-test

rust: $(VENV)/.engine
	@$(MAKE) check-rust
	@$(MAKE) rust-test

check: cargo ## formatting, lints, types, stub, import rules
	@$(MAKE) -j2 check-rust check-python

# Parts of `check`.
check-rust: $(VENV)/.engine
	$(CARGO) fmt --all --check
	$(CARGO) clippy --quiet --workspace --all-targets --locked --features $(TESTING) -- -D warnings

check-python: $(VENV)/.built
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(PY) -m mypy.stubtest slmtok._native
	$(BIN)/lint-imports

RUST_TESTED := -p slmtok-core -p unicode-tables -p slmtok-fuzz --features $(TESTING)
rust-test: $(VENV)/.engine ## tests of the Rust crates, also at the portable SIMD level, and inputs that fuzzing found
	@if $(CARGO) nextest --version >/dev/null 2>&1; then \
	  $(CARGO) nextest run --locked $(RUST_TESTED) --status-level slow --no-tests pass && \
	  $(CARGO) test --locked --quiet $(RUST_TESTED) --doc; \
	else \
	  $(CARGO) test --locked --quiet $(RUST_TESTED); \
	fi
	SLMTOK_SIMD=portable $(CARGO) test --locked --quiet $(RUST_TESTED) --test engine -- encode cache_clears engine_work traps

# Not one per core: a worker with torch and a Ray cluster takes 2 GB. One thread of torch each: threads of several
# processes on the same cores wait for each other.
PYTEST_WORKERS ?= 2
python-test: setup ## the Python tests, the blocks of the README, a built wheel in an empty environment
	OMP_NUM_THREADS=1 $(PY) -m pytest -n $(PYTEST_WORKERS) --dist worksteal

# pyproject.toml states what these tests have shown to work.
OLDEST := $(CURDIR)/.venv-oldest
OLDEST_EXTRAS ?= data report model
OLDEST_TESTS ?= tests/slmtok tests/formats tests/slmmodel/models tests/slmmodel/data tests/slmmodel/training
test-oldest: setup ## tests with the oldest allowed versions of the dependencies, in an environment of their own (downloads PyTorch)
	rm -rf $(OLDEST)
	$(PYTHON) -m venv $(OLDEST)
	$(PY) tests/oldest_versions.py $(OLDEST_EXTRAS) > $(OLDEST)/oldest.txt
	$(OLDEST)/bin/python -m pip install --upgrade 'pip>=25.1'
	$(OLDEST)/bin/python -m pip install -r $(OLDEST)/oldest.txt --group oracles
	PYTHONPATH=$(CURDIR) PATH="$(OLDEST)/bin:$$PATH" OMP_NUM_THREADS=1 $(OLDEST)/bin/python -m pytest $(OLDEST_TESTS) -n $(PYTEST_WORKERS) -m 'not cluster' \
	  && status=0 || status=$$?; rm -rf $(OLDEST); exit $$status

wheel: setup ## build the wheel into target/wheels
	$(BIN)/maturin build --release --quiet

bench: setup ## encode generated stories with slmtok and tiktoken, ids verified equal
	$(BIN)/slmtok bench --against tiktoken --rounds 3

bench-record: setup ## the full comparison with all peers, written to benchmarks/record (an hour on two cores)
	$(PY) -m pip install --group peers
	$(PY) -m benchmarks record

FUZZ_SECONDS ?= 30
fuzz: ## run each fuzz target for FUZZ_SECONDS (needs nightly Rust and cargo-fuzz)
	@rust/fuzz/run.sh $(FUZZ_SECONDS)

fuzz-files: setup ## edit every field of every file format, then several at random for FUZZ_SECONDS of processor time each; all are read by the commands
	SLMTOK_FUZZ_SECONDS=$(FUZZ_SECONDS) $(PY) -m pytest tests/fuzz -q -s -n 0

FAULTS_CALLS ?= 10000
faults: setup ## fail, kill or spoil at each of FAULTS_CALLS calls of every command, and run it in bare situations (needs a C compiler; hours)
	SLMTOK_FAULTS=$(FAULTS_CALLS) $(PY) -m pytest tests/faults -q -s -n 0

sanitize: ## the unsafe parts of the engine under Miri and AddressSanitizer (needs nightly Rust)
	@rust/sanitize.sh

test-aarch64: ## build the engine for AArch64 and run its tests under qemu (needs packages of Debian 12)
	@rust/test-aarch64.sh

instructions: ## count the instructions of a fixed workload and compare with the stored counts (needs valgrind)
	@$(PYTHON) -m benchmarks.instructions check

instructions-accept: ## count the instructions and store the counts
	@$(PYTHON) -m benchmarks.instructions accept

docs: setup ## check the links and blocks of the documentation; build its site into site/ and the Rust documentation
	$(PY) -m pytest tests/test_docs.py tests/contracts/test_links.py
	$(PY) -m pip install --group docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --locked --quiet --no-deps -p slmtok-core

clean: ## remove everything that was built, except .venv
	rm -rf target dist site quickstart .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .grimp_cache .benchmarks
	rm -f slmtok/_native*.so $(VENV)/.engine $(VENV)/.built
	find slmtok slmmodel tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
