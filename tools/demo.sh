#!/usr/bin/env bash
# Shows the rules at work: how well they stand up to liars, then how fast they are.
set -euo pipefail
cd "$(dirname "$0")/.."

heading() { printf '\n-- %s\n\n' "$1"; }

heading "Seventeen workers, some of them lie: how wrong is each rule?"
build/bin/example_attack

heading "How fast are they here? (ballast bench)"
build/bin/ballast bench --rules 'mean, cwmed, ctma(gm, 0.4)' --dim 1000000
printf '\nfull: computed from nothing. noisy, settled: one row changed, as on a server, much or a\n'
printf 'little; what is known of the other rows is used again.\n'

heading "Next"
cat <<'TEXT'
build/bin/ballast list        every rule
build/bin/ballast --help      aggregate rows of your own, from .npy or safetensors files
examples/aggregate/main.cc    the library in 30 lines of C++
TEXT
