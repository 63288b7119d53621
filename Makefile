# Everything one does with Ballast, one command per need; `make` alone lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 20
SIMULATE_SECONDS ?= 60

# Configures and builds one preset, or one target of it. What CMake warns about is shown, the rest
# of what it says only when it fails; Ninja shows its progress on a terminal.
define build_preset
@echo "== build: $(1)"
@mkdir -p build
@cmake --preset $(1) >build/configure-$(1).log || { cat build/configure-$(1).log; exit 1; }
@cmake --build --preset $(1) -j $(JOBS) $(if $(2),--target $(2)) $(if $(MAKE_TERMOUT),,-- --quiet)
endef

define test_preset
@echo "== test: $(1)"
@ctest --preset $(1) -j $(JOBS)
endef

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

setup: ## install the Debian packages that are missing
	@tools/setup.sh

build: ## build the library and the program build/bin/ballast
	$(call build_preset,release)

program: ## build the program build/bin/ballast and nothing else
	$(call build_preset,release,ballast_program)

python-setup:
	@tools/python.sh

test: setup python-setup build ## set up, build, and run the whole test suite
	$(call test_preset,release)

demo: setup program ## set up, build, and train against a liar: the main job
	@echo "== demo"
	@tools/demo.sh

bench: setup build ## set up, build, and measure the rules on this machine
	@echo "== bench"
	@build/bin/ballast bench

reliability: setup program ## set up, build, and put real processes through floods and crashes
	@echo "== reliability"
	@tests/reliability/run.sh build/bin/ballast | tee build/reliability.txt

install: build ## install into PREFIX (default /usr/local)
	@echo "== install: $(PREFIX)"
	@cmake --install build --prefix "$(PREFIX)" >build/install.log

deb: setup program ## make a Debian package of the program in build/
	@echo "== deb"
	@packaging/build_deb.sh build/bin/ballast build

wheel: setup build ## make a wheel of the Python package, with the program inside, in build/wheel
	@echo "== wheel"
	@python/wheel.sh

soak: setup program ## let a server run for an hour while its workers come and go
	@echo "== soak: an hour"
	@BALLAST_PROGRAM=build/bin/ballast /usr/bin/python3 -B tests/reliability/soak.py --full --out build

check-deb: setup setup-check program ## install the package into a minimal Debian, and start it
	@echo "== check: deb"
	@BALLAST_PROGRAM=build/bin/ballast /usr/bin/python3 -B tests/packaging/chroot_test.py

check: check-style check-format check-tidy check-python check-simulate check-asan check-tsan \
  check-fuzz ## all

check-style: setup ## include ladder, sizes, banned words: tools/tidy.py
	@echo "== check: style"
	@python3 -B tools/tidy.py

check-format: setup-check ## clang-format would change nothing
	@echo "== check: format"
	@tools/format.sh --check

check-tidy: setup-check ## clang-tidy finds nothing
	@echo "== check: clang-tidy"
	@tools/run-clang-tidy.sh $(JOBS)

check-simulate: setup program ## fresh seeds for SIMULATE_SECONDS (default 60)
	@echo "== check: simulate, $(SIMULATE_SECONDS) s"
	@build/bin/ballast simulate --first $$(date +%s) --seconds $(SIMULATE_SECONDS)

check-python: setup ## the wheel in an empty environment, with NumPy 2, Flower, ByzFL; ruff, mypy
	$(call build_preset,release)
	@echo "== check: python"
	@python/check.sh

check-asan: setup ## tests under the address and undefined-behaviour sanitizers
	$(call build_preset,asan)
	$(call test_preset,asan)

check-tsan: setup ## tests under the thread sanitizer
	$(call build_preset,tsan)
	$(call test_preset,tsan)

check-fuzz: setup-check ## every fuzzer for FUZZ_SECONDS (default 20)
	@echo "== check: fuzzers, $(FUZZ_SECONDS) s each"
	@fuzz/run.sh $(FUZZ_SECONDS) $(JOBS)

format: setup-check ## lay out the code with clang-format
	@tools/format.sh

clean: ## remove everything that was built
	@rm -rf build

setup-check:
	@tools/setup.sh check

.PHONY: help setup setup-check python-setup build program test demo bench reliability install deb \
  wheel soak clean format check check-deb check-style check-format check-tidy check-python \
  check-simulate check-asan check-tsan check-fuzz
