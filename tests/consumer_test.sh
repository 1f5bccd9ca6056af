#!/bin/bash
# consumer_test.sh smallest|whole: analyses the workspace tests/consumer in a Bazel of its own, and builds and runs its
# smallest program, or all of it. The sandbox shows the source tree read-only,
# so everything that is written lies under TEST_TMPDIR.
set -eu

root=$(dirname "$(realpath WORKSPACE)")
cd "$root/tests/consumer"
# Bazel needs a home for its installation only; the user's .bazelrc is not read.
bazel=(/usr/bin/bazel --nohome_rc --output_user_root="$TEST_TMPDIR/bazel" --max_idle_secs=60)
trap '"${bazel[@]}" shutdown || true' EXIT

options=(--symlink_prefix=/ --color=no --curses=no)
case $1 in
  smallest)
    "${bazel[@]}" build "${options[@]}" --nobuild //...
    "${bazel[@]}" test "${options[@]}" --jobs=2 //theatre:billing_test
    ;;
  whole) "${bazel[@]}" test "${options[@]}" --jobs=2 //... ;;
esac
