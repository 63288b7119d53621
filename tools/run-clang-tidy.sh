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

# What was found clean is not looked at again: the key is all that clang-tidy sees of a file (its
# text with what it includes and with the comments, which may silence a warning), the checks and
# the version, wherever the clone lies. Findings are never kept.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ballast/clang-tidy
mkdir -p "$cache"
checks=$(cat .clang-tidy tools/run-clang-tidy.sh <(clang-tidy --version) | sha256sum | cut -c 1-16)
find "$cache" -type f -mtime +30 -delete

# The text of a file as the compiler reads it; its command is the one of compile_commands.json.
# (`__FILE__` in it names the clone, which the key leaves out.)
preprocess() {
  python3 -B - "$1" <<'END'
import json, shlex, subprocess, sys
commands = json.load(open("build/tidy/compile_commands.json"))
entry = next(e for e in commands if e["file"] == sys.argv[1])
words = shlex.split(entry["command"])
words = words[next(i for i, word in enumerate(words) if word.endswith("clang++")):]
at = words.index("-o")
del words[at:at + 2]
sys.exit(subprocess.run([*words, "-E", "-P", "-C"], cwd=entry["directory"]).returncode)
END
}

tidy_one() {
  local key
  set -o pipefail
  if ! key=$(preprocess "$1" | sed "s|$PWD/||g" | sha256sum | cut -c 1-40); then
    clang-tidy -p build/tidy --quiet "$1"
  elif [ ! -e "$cache/$checks-$key" ]; then
    clang-tidy -p build/tidy --quiet "$1" && touch "$cache/$checks-$key"
  fi
}
export cache checks
export -f preprocess
export -f tidy_one

# Standard error only counts the warnings it left out, unless clang-tidy itself fails.
if ! printf '%s\0' "${files[@]}" |
  xargs -0 -n 1 -P "$jobs" bash -c 'tidy_one "$1"' tidy_one 2>build/tidy/stderr.log; then
  grep -v ' generated\.$' build/tidy/stderr.log >&2 || true
  exit 1
fi
echo "${#files[@]} files"
