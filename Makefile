# Developer tasks. Run `make` to list them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
CARGO ?= cargo

.PHONY: help demo up split check test lint fmt scenarios bench bench-api budget soak one-log fuzz doc completions clients operator-suites held hostile page transcripts mutants docs actions deny dist installs packages lab lab-test

help: ## List all tasks
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

DEMO := --profile demo -p coracle-cli
demo: ## Build Coracle, delete a pod, and show how its replacement appears
	@echo "This builds Coracle, starts a cluster in one process, and deletes a pod. A controller replaces the pod."
	@echo "The first build takes 1.5 to 3.5 minutes on two cores and is written to $(or $(CARGO_TARGET_DIR),target)/demo (0.9 GB)."
	$(CARGO) build $(DEMO)
	@$(CARGO) run -q $(DEMO) -- run scenarios/delete-a-pod.yaml --report $(or $(CARGO_TARGET_DIR),target)/delete-a-pod.html
	@echo "Open $(or $(CARGO_TARGET_DIR),target)/delete-a-pod.html in a browser to see each step and its causes."
	@echo "Next: $(or $(CARGO_TARGET_DIR),target)/demo/coracle learn explains how it works."

up: ## Start a local cluster; Ctrl-C stops it
	$(CARGO) run --release -q -p coracle-cli -- up

scenarios: ## Run all scenarios
	$(CARGO) run --release -q -p coracle-cli -- run scenarios --strict

test: ## Run all tests, as CI does
	bash .ci/run

transcripts: ## Regenerate the golden responses in tests/golden; commit the diff with your change
	CORACLE_WRITE_TRANSCRIPTS=1 $(CARGO) test -q -p coracle-tests --test transcripts every_answer
	git diff --stat -- tests/golden

check: lint test ## Run lint and test: what a change must pass

lint: ## Check the format and run clippy
	$(CARGO) fmt --check
	$(CARGO) clippy --workspace --all-targets --all-features -- -D warnings

fmt: ## Format all code
	$(CARGO) fmt

split: ## Test a cluster in five processes; kill and restart each of them
	$(CARGO) test -p coracle-cli --test it split -- --nocapture

clients: ## Test clients in Go, Python, JavaScript, Java and Rust, and published operators, against a cluster
	bash tests/clients/run

operator-suites: ## Run the envtest suites of two published operators: 2 to 8 minutes. REAL_ENVTEST=FOLDER compares the times
	bash tests/clients/run operator-suites

held: ## Test with 10,000 connections, 1,000 watches, and clients that stall or send too slowly
	bash tests/clients/run held

HOSTILE ?= bodies
hostile: ## Load that hostile clients make, on an optimized build: HOSTILE='bodies --seconds 600', neighbours or churn
	$(CARGO) build --release -q -p coracle-cli
	tests/hostile/run $(HOSTILE)

page: ## Check reports in the installed Chromium; PICTURES=1 also takes the pictures of docs/window.md again
	$(CARGO) build -q -p coracle-cli
	CORACLE_PAGE_PICTURES=$(if $(PICTURES),$(CURDIR)/docs/pictures) bash tests/page/run

bench: bench-api ## Run all benchmarks: API server, start, memory, controllers, scale, event log, store, CEL, scheduler
	$(CARGO) bench -q -p coracle-cli --bench cluster
	$(CARGO) bench -q -p coracle-cli --bench controllers
	$(CARGO) bench -q -p coracle-cli --bench scale
	$(CARGO) bench -q -p coracle-cli --bench recording
	$(CARGO) bench -q -p coracle-etcd --bench store
	$(CARGO) bench -q -p coracle-expression
	$(CARGO) bench -q -p coracle-scheduler --bench scheduler_perf

bench-api: ## Measure requests, lists, watches and memory of one API server; BENCH=--quick takes one minute
	$(CARGO) bench -q -p coracle-cli --bench api -- $(BENCH)

budget: export CARGO_INCREMENTAL = 0
budget: ## Count instructions, allocations and bytes, and compare them with the files; REASON=... writes the files
	@failed=0; reason="$(subst ",\",$(REASON))"; \
	$(CARGO) test -q --workspace --exclude xtask --bench budget -- $${reason:+--write "$$reason"} || failed=1; \
	$(CARGO) bench -q -p coracle-cli --bench budget -- $${reason:+--write "$$reason"} || failed=1; \
	exit $$failed

soak: ## Run long tests: comparison with etcd, crashes, power losses, disturbed and randomly drawn scenarios
	export PROPTEST_RNG_SEED="$$(date +%s)"; echo "PROPTEST_RNG_SEED=$$PROPTEST_RNG_SEED"; \
	CORACLE_OPERATIONS=200000 CORACLE_KILLS=10000 CORACLE_POWER_LOSSES=10000 CORACLE_FAULTS=500 PROPTEST_CASES=20000 \
		$(CARGO) test --release -p coracle-etcd -p coracle-store --features coracle-store/sled && \
	PROPTEST_CASES=20000 CORACLE_RACES=10000 $(CARGO) test --release -p coracle-tests --test api -- hostile races && \
	$(MAKE) one-log && \
	CORACLE_SEEDS=2000 CORACLE_DRAWN=20000 CORACLE_DRAWN_TWICE=10000 CORACLE_DRAWN_FAULTS=500 \
		$(CARGO) test --release -p coracle-scenario --test it -- disturbed drawn && \
	CORACLE_OBJECTS=2000 $(CARGO) test --release -p coracle-cluster --test it -- every_object && \
	CORACLE_PLANS=300 $(CARGO) test --release -p coracle-examples -- a_search_finds && \
	CORACLE_PLANS=10000 CORACLE_COMPONENT=controller-manager $(CARGO) test --release -p coracle-check --test own && \
	CORACLE_LONG_LISTS=8 $(CARGO) test --release -p coracle-resources --test long_lists -- --include-ignored

PROCESSES ?= 200
one-log: ## Run each scenario and a kube-rs controller in PROCESSES processes, half of them with an event log: all logs are equal
	export CORACLE_PROCESSES=$(PROCESSES); $(CARGO) test --release -p coracle-scenario --test it -- repeated && \
		$(CARGO) test --release -p coracle-tests --test kube_rs -- repeated

MUTANTS ?=
mutants: ## Put mistakes into the controllers, and see which of them the search with faults finds: MUTANTS='--only ID'
	tests/mutants/run $(MUTANTS)

FUZZ_SECONDS ?= 300
fuzz: ## Fuzz the input of the store, the API and the components, FUZZ_SECONDS for each target
	@if ! cargo fuzz --version >/dev/null 2>&1 || ! cargo +nightly --version >/dev/null 2>&1; then \
		echo "SKIPPED: fuzzing needs cargo-fuzz and a nightly compiler"; exit 0; fi; \
	for target in backup head messages transactions bodies patches applies selectors expressions objects; do \
		cargo +nightly fuzz run $$target -- -max_total_time=$(FUZZ_SECONDS) -malloc_limit_mb=64 -rss_limit_mb=1024 || exit 1; done

docs: ## Build the documents as a book with search in target/book, and check their links
	bash .ci/docs
	$(CARGO) test -q -p coracle-tests --test documents

deny: ## Check licences, sources and advisories of all dependencies with cargo-deny
	bash .ci/deny

actions: ## Check the workflows of GitHub with actionlint
	bash .ci/actions

doc: ## Build the documentation of all crates
	$(CARGO) doc --workspace --no-deps

dist: ## Build the archive of a release into target/dist: TARGET=x86_64-unknown-linux-musl for another platform
	$(CARGO) xtask dist $(if $(TARGET),--target $(TARGET))

installs: ## Test the ways to install a release, from its archive on this machine
	bash tests/install/run

LAB ?= $(or $(CARGO_TARGET_DIR),target)/lab
lab: ## Build the lab, a control plane for a browser tab, into the folder LAB: static files for any server
	bash .ci/lab $(LAB)

lab-test: lab ## Compare the event logs of the lab with those of the program in Node, and check its page in Chromium; PICTURES=1
	$(CARGO) build -q -p coracle-cli
	CORACLE_LAB=$(LAB) bash tests/lab/run
	CORACLE_LAB=$(LAB) CORACLE_PAGE_PICTURES=$(if $(PICTURES),$(CURDIR)/docs/pictures) bash tests/lab/page/run

packages: ## Package the crates as crates.io would get them, and build a program that uses them
	bash tests/packages/run

completions: ## Write shell completions to target/completions
	mkdir -p target/completions
	for shell in bash zsh fish; do $(CARGO) run -q -p coracle-cli -- completion $$shell > target/completions/coracle.$$shell; done
