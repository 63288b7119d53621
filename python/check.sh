#!/usr/bin/env bash
# What `make check` runs for the Python package: ruff and mypy, and the whole suite against the
# wheel in an environment of its own, with NumPy 2, Flower, grpcio, ByzFL and ByzPy from PyPI.
#
# PyTorch comes from PyPI where the index offers a build for the CPU; the one for CUDA brings
# gigabytes, and is taken only with BALLAST_CHECK_TORCH=torch. Without it the tests of PyTorch run
# in `make test` alone, with Debian's.
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
venv=build/python/check
rm -rf $venv
/usr/bin/python3 -m venv $venv
pip="$venv/bin/python -m pip --quiet --disable-pip-version-check"
torch=${BALLAST_CHECK_TORCH-$($pip index versions torch 2>/dev/null |
  grep -o '[0-9.]*+cpu' | head -n 1 | sed 's/^/torch==/' || true)}
$pip install build/wheel/*.whl pytest matplotlib flwr scipy ${torch:+"$torch"} \
  2>build/python/pip.log
$pip install --no-deps byzfl byzpy cloudpickle 2>>build/python/pip.log
BALLAST_PROGRAM=$PWD/$venv/bin/ballast $venv/bin/python -B -m pytest python/tests
