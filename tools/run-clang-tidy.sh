#!/usr/bin/env bash
# Runs clang-tidy over every source file of the tree, as the `tidy` preset compiles it.
#
# Left out are the files that Highway compiles once per instruction set (they include
# hwy/foreach_target.h): clang-tidy would see one target only, take minutes, and read the vector
# code of its macros. CUDA files and those for LibTorch are left out because the preset builds none,
# those for gRPC because they need code that a build generates and have the names of its interface,
# tests because they are half of the files: the compilers' own warnings are errors there too.
#
# Usage: tools/run-clang-tidy.sh [JOBS]
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${1:-$(nproc)}

mkdir -p build/tidy
cmake --preset tidy >build/tidy/configure.log || { cat build/tidy/configure.log; exit 1; }

# compile_commands.json names each file by its full path; what the build generates is not ours.
mapfile -t files < <(
  sed -n 's/^ *"file": "\(.*\.cc\)",\{0,1\}$/\1/p' build/tidy/compile_commands.json |
  sort -u | grep -v "^$PWD/build/" | grep -Ev '_(test|bench|fuzz)\.cc$|/grpc/|/tests/' |
  while read -r file; do grep -q 'hwy/foreach_target\.h' "$file" || echo "$file"; done)
[ ${#files[@]} -gt 0 ] || { echo "clang-tidy: no files" >&2; exit 1; }

tidy_one() {
  clang-tidy -p build/tidy --quiet "$1"
}
export -f tidy_one

# Standard error only counts the warnings it left out, unless clang-tidy itself fails.
if ! printf '%s\0' "${files[@]}" |
  xargs -0 -n 1 -P "$jobs" bash -c 'tidy_one "$1"' tidy_one 2>build/tidy/stderr.log; then
  grep -v ' generated\.$' build/tidy/stderr.log >&2 || true
  exit 1
fi
echo "${#files[@]} files"
