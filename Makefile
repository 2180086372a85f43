# make demo, make docs, make test: from nothing; what is installed and built is kept for the next time.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:

PYTHON ?= python3
VERSIONS := 3.11 3.12 3.13
bin := .venv/bin
environment := .venv/installed
tools := .venv/tools
sources := pyproject.toml CMakeLists.txt $(wildcard kernel/*) $(wildcard client/*)
# Compiled files are kept for the next time, here only: pip builds in a folder of its own each time,
# so that two installs from one checkout do not meet.
kept := --config-settings=build-dir=build/{wheel_tag}
# Compiled modules are kept, whatever the shell says: the tests start Python some hundreds of times.
unexport PYTHONDONTWRITEBYTECODE
pytest := OPENBLAS_NUM_THREADS=1 $(bin)/pytest -q -n 4

# Tests of the kernel's functions, of hostile input, and the laws.
sanitized := $(patsubst %,tests/test_%.py,kernel pairs trees tokens text text_bad_input mail_tokens \
    mail_kernel mail_hostile hard_numerics hostile_input files threads laws)

.PHONY: demo docs test test-all test-lowest test-pythons lint pytest sanitize clang wheels bench clean always preflight forget-what-was-not-tried

demo: $(environment)
	$(bin)/genus demo
	$(bin)/python examples/demo.py

# The documentation as a site: build/site/index.html. A warning is an error.
docs: .venv/docs
	rm -rf build/site docs/api/*.rst
	$(bin)/sphinx-build -q -E -n -W --keep-going -d build/site-read docs build/site
	@echo 'The site is in build/site/index.html.'

# The last lines say which tests were skipped and why, and which ran only in part.
test: lint pytest sanitize
	@echo
	@echo 'Some cases of these tests run in make test-all only:'
	@cat build/nightly.txt
	@echo 'Tests in these files use larger data or more repeats there:' \
	    $$(cd tests && grep -lw EVERYTHING test_*.py)
	@echo 'Only these ran with the sanitizer, with fewer variants:' $(notdir $(sanitized))
	@echo
	@grep -h '^SKIPPED' build/pytest.log || echo 'No test was skipped.'
	@echo "tests:          $$(tail -n 1 build/pytest.log)"
	@echo "with sanitizer: $$(tail -n 1 build/sanitize.log)"
	@echo 'All checks and tests passed.'

# Everything, everywhere: all cases, all of them sanitized, all versions of Python, clang, wheels.
test-all: export GENUS_TESTS = all
test-all: sanitized = tests src README.md docs
test-all: forget-what-was-not-tried lint pytest sanitize docs test-pythons test-lowest clang wheels
	@echo
	@grep -h '^SKIPPED' build/pytest.log || echo 'No test was skipped.'
	@grep -H '' build/python-*/skipped build/python-*/passed 2>/dev/null || true
	@cat build/not-tried 2>/dev/null || true
	@echo 'All checks and tests passed that could be run here.'

lint: $(tools)
	$(bin)/ruff check
	$(bin)/ruff format --check
	$(bin)/mypy
	$(bin)/lint-imports
	$(bin)/clang-format --dry-run --Werror kernel/* client/*
	$(bin)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(bin)/check-jsonschema --builtin-schema vendor.compose-spec deploy/compose/compose.yaml
	$(bin)/hadolint Dockerfile deploy/compose/Dockerfile

pytest: $(tools)
	@mkdir -p build
	scripts/install-chromium
	scripts/install-axe
	scripts/install-mail
	scripts/install-java
	$(pytest) -rs | tee build/pytest.log

# On a kernel that stops at the first bad access or undefined operation; report in build/sanitize.
sanitize: build/sanitize/built
	compiler=$$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' build/sanitize/CMakeCache.txt); \
	LD_PRELOAD="$$("$$compiler" -print-file-name=libasan.so) $$("$$compiler" -print-file-name=libstdc++.so)" \
	ASAN_OPTIONS="detect_leaks=0:malloc_context_size=4:log_path='$$PWD/build/sanitize/report'" \
	UBSAN_OPTIONS=print_stacktrace=1 GENUS_SANITIZED=1 GENUS_KERNEL=build/sanitize \
	$(pytest) $(sanitized) | tee build/sanitize.log

# The suite on the other versions of Python that are here; those that are not are named.
test-pythons: $(tools)
	mapfile -t found < <(scripts/pythons $(VERSIONS)); \
	for python in "$${found[@]}"; do scripts/test-with "$$python"; done

# The suite with the oldest versions of all dependencies that pyproject.toml allows.
test-lowest: preflight
	scripts/test-with "$$(scripts/pythons 3.11)" lowest

# The kernel by clang, without a warning, and its tests.
clang: $(tools)
	scripts/test-clang

# The source archive and this machine's wheels in dist/, each tried in an empty environment.
wheels: preflight
	scripts/build-wheels '$(PYTHON)'

bench: $(tools)
	$(bin)/pip install --quiet --no-build-isolation $(kept) --editable '.[bench]'
	$(bin)/python -m benchmarks

clean:
	rm -rf .venv build dist

forget-what-was-not-tried:
	@rm -f build/not-tried

preflight:
	@scripts/preflight '$(PYTHON)'

# An editable install knows the modules that there were: a new one, or one that moved, needs it again.
.venv/modules: always | preflight
	@mkdir -p .venv && find src -name '*.py' | LC_ALL=C sort >$@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

$(environment): $(sources) .venv/modules | preflight
	@echo 'Installing into .venv, which takes a minute the first time ...'
	test -x $(bin)/python || '$(PYTHON)' -m venv .venv
	scripts/pip $(bin) install scikit-build-core nanobind cmake ninja
	scripts/pip $(bin) install --no-build-isolation $(kept) --editable .
	touch $@

$(tools): $(environment)
	scripts/pip $(bin) install setuptools wheel  # PySpark is built from its source
	scripts/pip $(bin) install --no-build-isolation $(kept) --editable '.[test]'
	touch $@

.venv/docs: $(environment)
	scripts/pip $(bin) install --no-build-isolation $(kept) --editable '.[docs]'
	touch $@

build/sanitize/built: $(tools) $(sources)
	$(bin)/cmake -S . -B build/sanitize -G Ninja -DGENUS_SANITIZE=ON -DCMAKE_BUILD_TYPE=Debug \
	    -DCMAKE_MAKE_PROGRAM="$$PWD/$(bin)/ninja" -DPython_EXECUTABLE="$$PWD/$(bin)/python" \
	    -Dnanobind_DIR="$$($(bin)/python -m nanobind --cmake_dir)" >/dev/null
	$(bin)/cmake --build build/sanitize
	touch $@
