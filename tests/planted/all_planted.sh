#!/bin/bash
# all_planted.sh [BAZEL OPTION...]: each planted defect of README.md's table whose stage is `planted` is found.
set -u
planted=$(dirname "$(realpath "$0")")
failed=0
expect_failure() { "$planted/expect_failure.sh" "$@" || failed=1; }
expect_words() { "$planted/expect_words.sh" "$@" || failed=1; }

expect_failure asan //tests/planted:leak_test 'detected memory leaks' "$@"
expect_failure asan //tests/planted:overflow_test 'signed integer overflow' "$@"
expect_failure tsan //tests/planted:race_test 'data race' "$@"
expect_failure tsan //tests/planted:grpc_race_test 'CountingServer::Greet' "$@"
expect_words 'libFuzzer: deadly signal' tools/fuzz/fuzz 30 //tests/planted:word_fuzz_test
expect_words 'exception handling disabled' ./bazelw build --config=noexcept "$@" //tests/planted:throw_test
expect_words 'clang-format-violations' tools/format --check tests/planted/unformatted.txt
exit $failed
