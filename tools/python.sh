#!/usr/bin/env bash
# Makes build/python/venv, the environment in which a developer's build makes and tests the Python
# package: Debian's NumPy and PyTorch, nanobind and pytest from PyPI. Where PyPI cannot be reached
# it says so, and the build goes on without the package.
#
# Usage: tools/python.sh [PACKAGE...]     packages that the caller needs besides
set -euo pipefail
cd "$(dirname "$0")/.."

venv=build/python/venv
python=/usr/bin/python3
[ -x "$python" ] || python=python3
if [ ! -x $venv/bin/python ]; then
  mkdir -p build/python
  if ! "$python" -m venv --system-site-packages $venv >build/python/venv.log 2>&1; then
    echo "python: no environment can be made (see build/python/venv.log); no Python package" >&2
    rm -rf $venv
    exit 0
  fi
fi

wanted=("nanobind>=2.4" pytest "$@")
if ! $venv/bin/python -m pip install --quiet --disable-pip-version-check --retries 1 \
  --timeout 30 "${wanted[@]}" >build/python/pip.log 2>&1; then
  echo "python: PyPI cannot be reached (see build/python/pip.log); no Python package" >&2
fi
