#!/usr/bin/env bash
# Builds every fuzzer and runs each for SECONDS, JOBS at a time; fails if one finds something.
#
# NAME_fuzz.cc starts from its corpus in the source tree, fuzz/NAME, which stays as it is: what is
# new goes to build/fuzz/corpus/NAME, and an input that fails to build/fuzz/findings.
#
# Usage: fuzz/run.sh SECONDS [JOBS]
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:?usage: fuzz/run.sh SECONDS [JOBS]}
jobs=${2:-$(nproc)}
out=build/fuzz

mkdir -p $out/corpus $out/findings $out/logs
cmake --preset fuzz >$out/configure.log || { cat $out/configure.log; exit 1; }
cmake --build --preset fuzz -j "$jobs" -- --quiet

shopt -s nullglob
mapfile -t fuzzers < <(
  find . -path ./build -prune -o -name '*_fuzz.cc' -exec basename -s _fuzz.cc {} + | sort)
for corpus in fuzz/*/; do
  name=$(basename "$corpus")
  if [[ " ${fuzzers[*]} " != *" $name "* ]]; then
    echo "fuzz: $corpus belongs to no fuzzer: there is no ${name}_fuzz.cc" >&2
    exit 1
  fi
done

fuzz_one() {
  local name=$1 log=$out/logs/$1.log corpora=("$out/corpus/$1")
  mkdir -p "${corpora[0]}"
  if [ -d "fuzz/$name" ]; then corpora+=("fuzz/$name"); fi
  if ! "$out/bin/${name}_fuzz" -max_total_time="$seconds" -timeout=10 -print_final_stats=1 \
    -artifact_prefix="$out/findings/$name-" "${corpora[@]}" </dev/null >"$log" 2>&1; then
    echo "$name: failed; the end of $log says"
    tail -n 40 "$log"
    return 1
  fi
  printf '%s: %s executions, coverage %s edges\n' "$name" \
    "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" \
    "$(sed -n 's/.*DONE *cov: \([0-9]*\).*/\1/p' "$log")"
}
export -f fuzz_one
export out seconds
export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1

if [ ${#fuzzers[@]} -eq 0 ]; then
  echo "no fuzzers yet"
  exit 0
fi
printf '%s\n' "${fuzzers[@]}" | xargs -n 1 -P "$jobs" bash -c 'fuzz_one "$1"' fuzz_one
