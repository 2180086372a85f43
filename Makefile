# make demo, make docs, make test: from nothing; what is installed and built is kept for the next time.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:

PYTHON ?= python3
bin := .venv/bin
environment := .venv/installed
tools := .venv/tools
sources := pyproject.toml CMakeLists.txt $(wildcard kernel/*)

.PHONY: demo docs test lint pytest sanitize bench clean

demo: $(environment)
	$(bin)/genus demo
	$(bin)/python examples/demo.py

# The documentation as a site: build/site/index.html. A warning is an error.
docs: .venv/docs
	rm -rf build/site docs/api/*.rst
	$(bin)/sphinx-build -q -E -n -W --keep-going -d build/site-read docs build/site
	@echo 'The site is in build/site/index.html.'

# The last lines say which tests were skipped, and why.
test: lint pytest sanitize
	@echo
	@grep -h '^SKIPPED' build/pytest.log || echo 'No test was skipped.'
	@echo "tests:          $$(tail -n 1 build/pytest.log)"
	@echo "with sanitizer: $$(tail -n 1 build/sanitize.log)"
	@echo 'All checks and tests passed.'

lint: $(tools)
	$(bin)/ruff check
	$(bin)/ruff format --check
	$(bin)/mypy
	$(bin)/lint-imports
	$(bin)/clang-format --dry-run --Werror kernel/*

pytest: $(tools)
	@mkdir -p build
	scripts/install-chromium
	scripts/install-mail
	OPENBLAS_NUM_THREADS=1 $(bin)/pytest -q -n 2 -rs | tee build/pytest.log

# On a kernel that stops at the first bad access or undefined operation; report in build/sanitize.
sanitize: build/sanitize/built
	LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libstdc++.so)" \
	ASAN_OPTIONS=detect_leaks=0:log_path=$(CURDIR)/build/sanitize/report UBSAN_OPTIONS=print_stacktrace=1 \
	OPENBLAS_NUM_THREADS=1 GENUS_SANITIZED=1 HYPOTHESIS_PROFILE=sanitize \
	$(bin)/pytest -q -n 2 | tee build/sanitize.log

bench: $(tools)
	$(bin)/pip install --quiet --no-build-isolation --editable '.[bench]'
	$(bin)/python -m benchmarks

clean:
	rm -rf .venv build

$(environment): $(sources)
	@echo 'Installing into .venv, which takes a minute the first time ...'
	test -x $(bin)/python || $(PYTHON) -m venv .venv
	$(bin)/pip install --quiet scikit-build-core nanobind cmake ninja
	$(bin)/pip install --quiet --no-build-isolation --editable .
	touch $@

$(tools): $(environment)
	$(bin)/pip install --quiet --no-build-isolation --editable '.[test]'
	touch $@

.venv/docs: $(environment)
	$(bin)/pip install --quiet --no-build-isolation --editable '.[docs]'
	touch $@

build/sanitize/built: $(tools) $(sources)
	$(bin)/cmake -S . -B build/sanitize -G Ninja -DGENUS_SANITIZE=ON -DCMAKE_BUILD_TYPE=Debug \
	    -DCMAKE_MAKE_PROGRAM=$(abspath $(bin)/ninja) \
	    -DPython_EXECUTABLE=$(abspath $(bin)/python) \
	    -Dnanobind_DIR="$$($(bin)/python -m nanobind --cmake_dir)" >/dev/null
	$(bin)/cmake --build build/sanitize
	touch $@
