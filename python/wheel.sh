#!/usr/bin/env bash
# Makes a wheel in build/wheel of what `make build` has built, so that nothing is compiled twice;
# where auditwheel can be had and can do it, a manylinux one, which brings its libraries along.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/python.sh scikit-build-core
rm -rf build/wheel
build/python/venv/bin/python -m pip wheel . --quiet --disable-pip-version-check --no-deps \
  --no-build-isolation --wheel-dir build/wheel \
  --config-settings=build-dir=build \
  --config-settings=cmake.define.BALLAST_DEVELOPER=ON \
  --config-settings=cmake.define.BALLAST_WERROR=ON \
  --config-settings=cmake.define.BALLAST_TORCH=ON
ls build/wheel/*.whl
