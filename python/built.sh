# Sourced by the scripts beside it. Lets pip use what `make build` has built, so that nothing is
# compiled twice, with the packages of build/python/venv.
from_build=(--quiet --disable-pip-version-check --no-deps --no-build-isolation
  --config-settings=build-dir=build
  --config-settings=cmake.define.BALLAST_DEVELOPER=ON
  --config-settings=cmake.define.BALLAST_WERROR=ON
  --config-settings=cmake.define.BALLAST_TORCH=ON)

# What was told to the build for pip is not for the builds to come.
forget_pip() {
  cmake --preset release -U'SKBUILD*' -U'*Python*' -U'PYTHON*' -UCMAKE_INSTALL_PREFIX \
    -UCMAKE_PREFIX_PATH -UCMAKE_MODULE_PATH >build/configure-release.log
}
trap forget_pip EXIT
