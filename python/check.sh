#!/usr/bin/env bash
# What `make check` runs for the Python package: ruff and mypy, an editable install, and the whole
# suite against the wheel in an empty environment of its own, with current PyTorch, NumPy 2, JAX,
# Flower, grpcio, ByzFL and ByzPy from PyPI.
#
# PyPI's PyTorch is for CUDA and brings gigabytes of libraries, so that it is taken only where the
# disk has room. BALLAST_CHECK_TORCH names another one ("torch==2.13.0+cpu", where the index has
# it), or none ("": its tests then run in `make test` alone).
set -euo pipefail
cd "$(dirname "$0")/.."

tools/python.sh ruff mypy
tools=build/python/venv/bin
if ! $tools/python -c "import nanobind, mypy" 2>/dev/null; then
  echo "skipped: PyPI cannot be reached" >&2
  exit 0
fi
$tools/ruff check python examples/python
$tools/ruff format --check --quiet python examples/python
$tools/mypy

python/wheel.sh
python/editable_test.sh
venv=build/python/check
rm -rf $venv
/usr/bin/python3 -m venv $venv
pip="$venv/bin/python -m pip --quiet --disable-pip-version-check"

choose_torch() {
  local free
  free=$(df --output=avail -BG . | tail -n 1 | tr -dc '0-9')
  if [ "$free" -ge 16 ]; then
    echo torch
  else
    echo "python: no PyTorch from PyPI: 16 GB are wanted for it, and $free GB are free" >&2
  fi
}

install() {
  if ! $pip install "$@" >>build/python/pip.log 2>&1; then
    tail -n 5 build/python/pip.log >&2
    echo "python: pip could not install $* (see build/python/pip.log)" >&2
    exit 1
  fi
}

: >build/python/pip.log
torch=${BALLAST_CHECK_TORCH-$(choose_torch)}
install build/wheel/*.whl pytest matplotlib pandas flwr scipy jax ${torch:+"$torch"}
install --no-deps byzfl byzpy cloudpickle
$venv/bin/python -c "import importlib.metadata as m
for name in ('ballast', 'numpy', 'torch', 'jax', 'flwr', 'grpcio', 'byzfl', 'byzpy'):
    print(name, next((d.version for d in m.distributions(name=name)), '-'), end='  ')
print()"
BALLAST_PROGRAM=$PWD/$venv/bin/ballast $venv/bin/python -B -m pytest python/tests
rm -rf $venv  # gigabytes
