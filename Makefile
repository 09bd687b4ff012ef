# Greenroom's commands. `make` alone lists them.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

BINDGEN_VERSION := $(shell sed -n 's/^wasm-bindgen = .*"=\([0-9.]*\)".*/\1/p' Cargo.toml)
BINDGEN := .tools/bin/wasm-bindgen-$(BINDGEN_VERSION)
WASM := target/wasm32-unknown-unknown/wasm-release/greenroom.wasm
BROWSER := target/browser
BINARY := target/release/greenroom

export GREENROOM_SITE := $(CURDIR)/$(BROWSER)

.PHONY: help run build test test-live bench bindgen fmt check-tools sandbox wasm

help: ## list these commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-18s %s\n", $$1, $$2}'

run: build ## build what is missing and serve http://127.0.0.1:3000
	@exec ./$(BINARY) serve

build: wasm sandbox ## the optimised binary, with the site inside: target/release/greenroom
	@echo "» building the server (the first time takes a few minutes)"
	@cargo build --release --locked --bin greenroom
	@echo "» built $(BINARY)"

test: check-tools ## everything: formatting, lints, tests, optimised build, browser
	@scripts/test

test-live: ## the agent's stories against a real service, when its key is set
	@scripts/test-live

bench: build ## measure, as ratios in one run
	@scripts/bench

fmt: ## format the sources
	@cargo fmt

sandbox: ## the Python that agents use, where python3 is there: see docs/sandbox.md
	@scripts/build-sandbox

wasm: check-tools $(BINDGEN)
	@echo "» building the browser's program"
	@env -u GREENROOM_SITE cargo build --locked --lib --profile wasm-release --target wasm32-unknown-unknown \
		--no-default-features --features hydrate
	@$(MAKE) --no-print-directory $(BROWSER)/greenroom.js

$(BROWSER)/greenroom.js: $(WASM)
	@rm -rf $(BROWSER)
	@$(BINDGEN) --target web --no-typescript --out-dir $(BROWSER) --out-name greenroom $(WASM)

$(BINDGEN):
	@mkdir -p $(@D)
	@[ "$$(wasm-bindgen --version 2>/dev/null)" = "wasm-bindgen $(BINDGEN_VERSION)" ] \
		&& ln -s "$$(command -v wasm-bindgen)" $@ || $(MAKE) --no-print-directory bindgen

# Made where this very version is not installed already.
bindgen:
	@echo "» installing wasm-bindgen $(BINDGEN_VERSION) into .tools (once)"
	@env -u GREENROOM_SITE CARGO_PROFILE_RELEASE_OPT_LEVEL=1 cargo install wasm-bindgen-cli \
		--version $(BINDGEN_VERSION) --root .tools --target-dir target/tools
	@mv .tools/bin/wasm-bindgen $(BINDGEN)

check-tools:
	@command -v cargo >/dev/null || { echo "Rust is missing: install it with rustup (rustup.rs)." >&2; exit 1; }
	@rustup target list --installed 2>/dev/null | grep -qx wasm32-unknown-unknown \
		|| { echo "» adding the wasm32 target"; rustup target add wasm32-unknown-unknown; }
