# Headrace: every target sets up what it needs first, and does nothing twice.
PYTHON = $(shell sh tools/python.sh)
BUILD = $(PYTHON) -B -m tools

.DEFAULT_GOAL := help
.PHONY: help setup run test demo check fix generate test-pure test-deep bench lock

help:
	@echo "make run        set everything up and start it: console, API, workers, database, one agent for this machine"
	@echo "make demo       the same with a simulated cluster of 48 mixed nodes"
	@echo "make setup      set everything up, start nothing"
	@echo "make test       all tests: Python, console, browser"
	@echo "make test-pure  the tests that need no database (seconds)"
	@echo "make test-deep  the properties of the engine on 5,000 random cases each, the parsers on 1,000,000 damaged outputs (an hour)"
	@echo "make check      lint, types, import contracts, house rules, generated files; changes nothing"
	@echo "make fix        format and repair what can be repaired by a tool"
	@echo "make generate   write the generated files (OpenAPI, API types of the console)"
	@echo "make bench      the benchmarks"
	@echo "make lock       write requirements/*.lock from pyproject.toml (needs uv)"

setup run test demo check fix generate test-pure test-deep bench lock:
	@test -n "$(PYTHON)" && exec $(BUILD) $@ $(ARGS)
