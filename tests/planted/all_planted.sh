#!/bin/bash
# all_planted.sh [BAZEL OPTION...]: each planted defect of README.md's table that needs a sanitizer is found by it.
set -u
expect_failure=$(dirname "$(realpath "$0")")/expect_failure.sh
failed=0
expect() { "$expect_failure" "$@" || failed=1; }

expect asan //tests/planted:leak_test 'detected memory leaks' "$@"
expect asan //tests/planted:overflow_test 'signed integer overflow' "$@"
expect tsan //tests/planted:race_test 'data race' "$@"
expect tsan //tests/planted:grpc_race_test 'CountingServer::Greet' "$@"
if found=$("$(dirname "$expect_failure")/../../tools/fuzz/fuzz" 30 //tests/planted:word_fuzz_test 2>&1); then
  echo "all_planted: libFuzzer did not find the word" >&2
  failed=1
elif ! grep -q 'libFuzzer: deadly signal' <<<"$found"; then
  echo "all_planted: libFuzzer failed otherwise than by finding the word: $found" >&2
  failed=1
else
  echo "all_planted: libFuzzer found the word, as it must"
fi
exit $failed
