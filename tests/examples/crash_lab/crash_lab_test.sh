#!/bin/bash
# The crash lab as its user runs it: its output for a script is always the same, and it leaves no process behind.
set -u
lab=examples/crash_lab/crash_lab
here=tests/examples/crash_lab
out=${TEST_TMPDIR:-/tmp}/crash_lab.out
failed=0

expect() { # STATUS GOLDEN: what is in $out, after a run that ended with $status
  if [ "$status" != "$1" ]; then
    echo "it ended with $status, not with $1"
    failed=1
  fi
  if ! diff -u "$here/$2" "$out"; then
    echo "it printed something else than $2"
    failed=1
  fi
}

# The shipped tour, from a file.
CRASH_LAB_TOKEN=$$ "$lab" --script=examples/crash_lab/tour.txt >"$out" 2>&1
status=$?
expect 0 tour.output

# From standard input; the tree gives up at last.
yes "kill clock" | head -n 20 | CRASH_LAB_TOKEN=$$ "$lab" >"$out" 2>&1
status=$?
expect 1 gives_up.output

# A bad tree is refused with its errors.
printf 'intensity: -1\nchild { id: "a" actor { factory: "clerk" } }\n' >"$TEST_TMPDIR/bad.textproto"
"$lab" --tree="$TEST_TMPDIR/bad.textproto" >"$out" 2>&1
status=$?
if [ "$status" != 2 ] || ! grep -q "bad.textproto:1: intensity: -1 is negative" "$out" ||
  ! grep -q "bad.textproto:2: child 'a': actor.factory: there is no factory 'clerk'; registered: worker" "$out"; then
  echo "a bad tree: it ended with $status and printed"
  cat "$out"
  failed=1
fi

# `bazel run` tells the program the user's folder, from which relative paths are resolved.
printf 'quit\n' >"$TEST_TMPDIR/quit.txt"
cp examples/crash_lab/lab_tree.textproto "$TEST_TMPDIR/tree.textproto"
for flags in --script=quit.txt "--script=quit.txt --tree=tree.textproto"; do
  BUILD_WORKING_DIRECTORY=$TEST_TMPDIR "$lab" $flags >"$out" 2>&1
  status=$?
  if [ "$status" != 0 ]; then
    echo "$flags in the user's folder: it ended with $status and printed"
    cat "$out"
    failed=1
  fi
done

# --observe serves a page that shows the lab's node, and prints its address.
mkfifo "$TEST_TMPDIR/commands"
CRASH_LAB_TOKEN=$$ "$lab" --observe <"$TEST_TMPDIR/commands" >"$out" 2>&1 &
observed=$!
exec 4>"$TEST_TMPDIR/commands"
address=
for _ in $(seq 3000); do
  address=$(sed -n 's,^observe: http://,,p' "$out")
  [ -n "$address" ] && break
  kill -0 "$observed" 2>/dev/null || break
  sleep 0.01
done
host=${address%%/*}
exec 3<>"/dev/tcp/127.0.0.1/${host##*:}"
printf 'GET /api/stream HTTP/1.1\r\nHost: %s\r\nX-Understudy-Token: %s\r\n\r\n' "$host" "${address##*#}" >&3
if ! timeout 60 grep -q '"name":"lab"' <&3; then
  echo "no page shows the lab; it printed"
  cat "$out"
  failed=1
fi
exec 3>&-
echo quit >&4
exec 4>&-
wait "$observed"
status=$?
if [ "$status" != 0 ]; then
  echo "with --observe it ended with $status"
  failed=1
fi

# A script that cannot be read is refused.
for script in "$TEST_TMPDIR" "$TEST_TMPDIR/none"; do
  "$lab" --script="$script" >"$out" 2>&1
  status=$?
  if [ "$status" != 2 ] || ! grep -q "crash_lab: cannot read $script" "$out"; then
    echo "the script $script: it ended with $status and printed"
    cat "$out"
    failed=1
  fi
done

# The lab's process children have ended with it.
if grep -slz "^CRASH_LAB_TOKEN=$$\$" /proc/[0-9]*/environ | xargs -r -n1 dirname | while read -r process; do
  tr '\0' ' ' <"$process/cmdline"; done | grep -q lab_process; then
  echo "a lab_process lives on"
  failed=1
fi
exit $failed
