#!/usr/bin/env bash
# Lays out every C++ and CUDA file with clang-format; with --check only says which lines it would
# change, and fails if there are any.
#
# Usage: tools/format.sh [--check]
set -euo pipefail
cd "$(dirname "$0")/.."

mode=(-i)
if [ "${1:-}" = --check ]; then mode=(--dry-run -Werror); fi

find . -path ./build -prune -o -path './.*' -prune -o \
  -type f \( -name '*.h' -o -name '*.cc' -o -name '*.cu' -o -name '*.cuh' \) -print0 |
  xargs -0 -r clang-format --style=file "${mode[@]}"
