#!/bin/bash
# Runs every script of this folder in full, one finding per line. Fails if one of them does, but
# only after all of them.
#
# Usage: tests/reliability/run.sh PROGRAM
set -uo pipefail

if (($# != 1)); then
  echo "usage: $0 PROGRAM" >&2
  exit 2
fi
BALLAST_PROGRAM=$(realpath "$1")
export BALLAST_PROGRAM
# Debian's interpreter where there is one: Debian's NumPy belongs to it.
python=$(PATH=/usr/bin:$PATH command -v python3)

code=0
for script in accuracy flood rejoin_flood kill_server churn_and_crash damage full_disk workers \
  squatters hostile; do
  "$python" -B "$(dirname "$0")/$script.py" --full || code=1
done
exit $code
