# Everything that one does with this repository. `make` says what there is.
.DEFAULT_GOAL := help
SHELL := /bin/bash
CARGO ?= cargo

.PHONY: help demo up split check test lint fmt scenarios bench bench-api soak fuzz doc completions clients held page transcripts

help: ## Say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

DEMO := --profile demo -p coracle-cli
demo: ## Watch a deleted pod come back (the main job)
	@echo "Coracle is built, then a pod is deleted in a cluster of its own, in this process, and comes back."
	@echo "A first build takes one and a half to three and a half minutes on two cores and goes to $(or $(CARGO_TARGET_DIR),target)/demo (0.9 GB)."
	$(CARGO) build $(DEMO)
	@$(CARGO) run -q $(DEMO) -- run scenarios/delete-a-pod.yaml --report $(or $(CARGO_TARGET_DIR),target)/delete-a-pod.html
	@echo "Open $(or $(CARGO_TARGET_DIR),target)/delete-a-pod.html in a browser to see why."
	@echo "Next: $(or $(CARGO_TARGET_DIR),target)/demo/coracle learn teaches how it works."

up: ## Start a cluster to play with; Ctrl-C stops it
	$(CARGO) run --release -q -p coracle-cli -- up

scenarios: ## Run all scenarios
	$(CARGO) run --release -q -p coracle-cli -- run scenarios --strict

test: ## Run all tests (what CI runs)
	bash .ci/run

transcripts: ## Write the answers of all requests in tests/golden anew; read in review what changed
	CORACLE_WRITE_TRANSCRIPTS=1 $(CARGO) test -q -p coracle-tests --test transcripts every_answer
	git diff --stat -- tests/golden

check: lint test ## Lints and tests

lint: ## Format and lints
	$(CARGO) fmt --check
	$(CARGO) clippy --workspace --all-targets --all-features -- -D warnings

fmt: ## Format all code
	$(CARGO) fmt

split: ## A cluster in five processes, each killed and started again under way
	$(CARGO) test -p coracle-cli --test it split -- --nocapture

clients: ## Go, Python, JavaScript, Java and Rust programs against a cluster, and operators that others published
	bash tests/clients/run

held: ## Hold ten thousand connections and a thousand watches, and clients that stall or speak too slowly
	bash tests/clients/run held

page: ## Open reports in the machine's Chromium, and look at what it says of them; PICTURES=1 takes those of docs/window.md anew
	$(CARGO) build -q -p coracle-cli
	CORACLE_PAGE_PICTURES=$(if $(PICTURES),$(CURDIR)/docs/pictures) bash tests/page/run

bench: bench-api ## Measure: start, memory, a pod's comeback, controllers, many nodes and pods, the event log, the scheduler, the API under load, the store beside an etcd
	$(CARGO) bench -q -p coracle-cli --bench cluster
	$(CARGO) bench -q -p coracle-cli --bench controllers
	$(CARGO) bench -q -p coracle-cli --bench scale
	$(CARGO) bench -q -p coracle-cli --bench recording
	$(CARGO) bench -q -p coracle-etcd --bench store
	$(CARGO) bench -q -p coracle-expression
	$(CARGO) bench -q -p coracle-scheduler --bench scheduler_perf

bench-api: ## Measure requests, lists, watches and memory of one API server; BENCH=--quick takes a minute
	$(CARGO) bench -q -p coracle-cli --bench api -- $(BENCH)

soak: ## Long runs: operations beside a real etcd, crashes, losses of power; each scenario disturbed 2,000 times; 20,000 drawn ones judged
	export PROPTEST_RNG_SEED="$$(date +%s)"; echo "PROPTEST_RNG_SEED=$$PROPTEST_RNG_SEED"; \
	CORACLE_OPERATIONS=200000 CORACLE_KILLS=10000 CORACLE_POWER_LOSSES=10000 CORACLE_FAULTS=500 PROPTEST_CASES=20000 \
		$(CARGO) test --release -p coracle-etcd -p coracle-store --features coracle-store/sled && \
	PROPTEST_CASES=20000 $(CARGO) test --release -p coracle-tests --test api hostile && \
	CORACLE_SEEDS=2000 CORACLE_DRAWN=20000 CORACLE_DRAWN_TWICE=2000 \
		$(CARGO) test --release -p coracle-scenario --test it -- disturbed drawn && \
	CORACLE_OBJECTS=2000 $(CARGO) test --release -p coracle-cluster --test it -- every_object

FUZZ_SECONDS ?= 300
fuzz: ## Fuzz what the store and the API read and what components make of objects, FUZZ_SECONDS each
	@if ! cargo fuzz --version >/dev/null 2>&1 || ! cargo +nightly --version >/dev/null 2>&1; then \
		echo "SKIPPED: fuzzing needs cargo-fuzz and a nightly compiler"; exit 0; fi; \
	for target in backup head messages transactions bodies patches applies selectors expressions objects; do \
		cargo +nightly fuzz run $$target -- -max_total_time=$(FUZZ_SECONDS) -malloc_limit_mb=64 -rss_limit_mb=1024 || exit 1; done

doc: ## The documentation of all crates
	$(CARGO) doc --workspace --no-deps

completions: ## Shell completions, into target/completions
	mkdir -p target/completions
	for shell in bash zsh fish; do $(CARGO) run -q -p coracle-cli -- completion $$shell > target/completions/coracle.$$shell; done
