#!/usr/bin/env bash
# Whether `pip install -e .` does what docs/python.md says: the package is that of the tree, a C++
# file that changed is compiled when the package is imported, and an uninstall leaves nothing.
# Called by check.sh; needs what that has installed.
set -euo pipefail
cd "$(dirname "$0")/.."

tree=$PWD
venv=build/python/editable
rm -rf $venv build/install
build/python/venv/bin/python -m venv --system-site-packages $venv
python=$tree/$venv/bin/python
# The developer's nanobind: with another one the extensions would be compiled anew.
echo "$tree"/build/python/venv/lib/python3*/site-packages >"$(
  $python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/developer.pth"
fail() {
  echo "python: the editable install $1" >&2
  exit 1
}

. python/built.sh
$python -m pip install -e . "${from_build[@]}" \
  --config-settings=editable.rebuild=true --config-settings=editable.verbose=false
core() { (cd / && $python -c "import ballast; print(ballast.__file__, ballast._core.__file__)"); }

read -r package module <<<"$(core)"
[ "$package" = "$tree/python/ballast/__init__.py" ] || fail "is that of $package"
before=$(stat -c %y "$module")
[ "$(core)" = "$package $module" ] && [ "$(stat -c %y "$module")" = "$before" ] ||
  fail "compiles what did not change"
touch python/src/place.cc
core >/dev/null
[ "$(stat -c %y "$module")" != "$before" ] || fail "does not see a changed C++ file"
(cd / && "$tree/$venv/bin/ballast" --version >/dev/null)

$python -m pip uninstall --quiet --yes ballast
left=$(find $venv -iname '*ballast*')
[ -z "$left" ] || fail "leaves $left behind"
(cd / && $python -c "import ballast" 2>/dev/null) && fail "can be imported after it was removed"
rm -rf $venv build/install
