# Everything a developer or CI runs. `make help` lists it.
# Needed on the machine: git, make, Go 1.26 or newer, Python 3.11 or newer with venv. The rest is installed
# here: .venv/ (the engine and the stock clients), .venv-lint/ (ruff) and Go's own caches.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO ?= go
# PYTHON=/path/to/python3 overrides the search of scripts/find-python.
export PYTHON
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
# What `make sim` runs: so many seeds of an hour, and so many of a day.
SIM_SEEDS ?= 1..20000
SIM_DAYS ?= 1..200
# How long `make test` runs seeds that nobody has run before.
SIM_FRESH ?= 60s
# Other builds of the tree, each vetted by `make lint`.
TAGS := guards planted

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z.-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/sluice
	$(GO) build -trimpath -ldflags "-X main.version=$(VERSION)" -o bin/sluice ./cmd/sluice

# The copy of the lock inside the environment is the stamp: a changed lock makes the environment anew.
.PHONY: .venv
.venv: .venv/installed.lock ## make .venv, the Python of the engine and of the stock clients

.venv/installed.lock: python/requirements.lock scripts/venv
	scripts/venv .venv python/requirements.lock

.venv-lint/installed.lock: python/lint.lock scripts/venv
	scripts/venv .venv-lint python/lint.lock

.PHONY: lock
lock: ## write python/*.lock anew from python/*.in
	scripts/lock-python

.PHONY: demo
demo: build .venv ## two real tables, a late commit, a killed engine: on a fresh lake
	@scripts/demo

.PHONY: test
test: .venv ## all tests that need nothing more than the four tools
	$(GO) test -timeout 10m ./...
	$(GO) test -timeout 10m -tags planted -run '^TestPlanted' ./sim ./cmd/sluice
	$(GO) test -timeout 10m -run '^TestFreshSeeds$$' -v ./sim -sim.for $(SIM_FRESH)

.PHONY: test-race
test-race: ## the same digests with the race detector as without it, and its look at core, sim and drivers (gcc)
	scripts/test-race

.PHONY: guards
guards: .venv ## take out each guarded rule in turn and see its test fail
	$(GO) run ./guard/check

.PHONY: sim
sim: build ## long batches of virtual fleets under faults (SIM_SEEDS=A..B of an hour, SIM_DAYS=A..B of a day)
	bin/sluice sim run --seeds $(SIM_SEEDS)
	bin/sluice sim run --seeds $(SIM_DAYS) --hours 24

.PHONY: sim-planted
sim-planted: ## make each planted mistake in turn and see the simulator catch it
	$(GO) run -tags planted ./sim/planted -write

.PHONY: lint
lint: .venv-lint/installed.lock ## gofmt, vet, staticcheck's checks, ruff
	scripts/lint $(TAGS)

.PHONY: bench-merge
bench-merge: .venv ## 64 generations into 500,000 rows, against a plain pylance loop
	$(GO) run ./adapters/embedded/benchmerge

.PHONY: bench-fleet
bench-fleet: .venv ## what a fleet costs: etcd, lake, starts, takeovers, memory; ten minutes
	$(GO) test -run '^$$' -bench '^BenchmarkFleet' -benchtime 1x -timeout 30m -p 1 ./adapters/fleet ./cmd/sluice

.PHONY: clean
clean: ## remove what the other targets made
	rm -rf bin .venv .venv-lint .ruff_cache
