#!/bin/bash
# consumer_test.sh smallest|whole: analyses the workspace tests/consumer in a Bazel of its own, and compiles the packages
# that need its repositories and the kernel only, or builds and runs everything, with 1,000 seeds where a test has 50. Both see that what Understudy
# shows to that workspace is what consumer/surface.txt lists. The sandbox shows the source tree read-only, so everything
# that is written lies under TEST_TMPDIR.
set -eu

root=$(dirname "$(realpath WORKSPACE)")
cd "$root/tests/consumer"
# Bazel needs a home for its installation only; the user's .bazelrc is not read.
bazel=(/usr/bin/bazel --nohome_rc --output_user_root="$TEST_TMPDIR/bazel" --max_idle_secs=60)
trap '"${bazel[@]}" shutdown || true' EXIT

display=(--color=no --curses=no)
options=(--symlink_prefix=/ "${display[@]}")

# All rules of Understudy but its tests' that a target of this workspace may depend on.
check_surface() {
  local folder rules="@understudy//:all"
  for folder in "$root"/*/; do
    folder=$(basename "$folder")
    [ -L "$root/$folder" ] || [ "$folder" = tests ] || rules+=" + @understudy//$folder/..."
  done
  "${bazel[@]}" query "${display[@]}" --noshow_progress "visible(//stage:spotlight_test, kind(rule, $rules))" |
    LC_ALL=C sort >"$TEST_TMPDIR/surface"
  diff surface.txt "$TEST_TMPDIR/surface" || {
    echo "what Understudy shows to other workspaces is not what tests/consumer/surface.txt lists: make it private, or list it"
    return 1
  }
}

check_surface
case $1 in
  smallest)
    "${bazel[@]}" build "${options[@]}" --nobuild //...
    # Without what they link: that is all of the kernel once more.
    "${bazel[@]}" build "${options[@]}" --jobs=2 --output_groups=compilation_outputs //stage/... //third_party/...
    ;;
  whole) "${bazel[@]}" test "${options[@]}" --jobs=2 --test_env=UNDERSTUDY_ROUNDS_FACTOR=20 //... ;;
esac
