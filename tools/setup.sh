#!/usr/bin/env bash
# Installs the Debian packages that are missing: those of tools/packages.txt, and for each GROUP
# named as an argument those of tools/packages-GROUP.txt. Touches nothing when none is missing.
#
# Usage: tools/setup.sh [GROUP...]
set -euo pipefail
cd "$(dirname "$0")"

lists=(packages.txt)
for group in "$@"; do lists+=("packages-$group.txt"); done

wanted=$(sed -e 's/#.*//' "${lists[@]}")

if ! command -v dpkg-query >/dev/null; then
  echo "setup: not a Debian system; install the equivalents of:" $wanted >&2
  exit 0
fi

installed=$(dpkg-query --show --showformat='${db:Status-Status} ${Package}\n' $wanted 2>/dev/null |
  sed -n 's/^installed //p' || true)
missing=()
for package in $wanted; do
  grep -qxF -- "$package" <<<"$installed" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" -eq 0 ]; then
  as_root=(env)
elif sudo -n true 2>/dev/null; then
  as_root=(sudo -n env)
else
  echo "setup: these packages are missing; install them with" >&2
  echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}" >&2
  exit 2
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() {
  "${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@" \
    </dev/null >"$log" 2>&1 && return
  cat "$log" >&2
  echo "setup: apt-get $1 failed" >&2
  return 1
}
echo "== setup: installing ${missing[*]}"
apt update
apt install -y --no-install-recommends "${missing[@]}"
