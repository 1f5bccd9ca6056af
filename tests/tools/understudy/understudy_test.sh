#!/bin/bash
# The program `understudy` against a node in a process of its own: what it prints, and its exit status.
set -u

folder=$(mktemp -d /tmp/understudy-test.XXXXXX)  # short: the path of a socket has a bound
tests/tools/understudy/desk_node "$folder/ops" 2>"$folder/log" &
node=$!
trap 'kill "$node" 2>/dev/null; rm -rf "$folder"' EXIT
export UNDERSTUDY_OPS=$folder/ops

fail() {
  echo "FAILED: $1"
  cat "$folder/out" "$folder/err" "$folder/log"
  exit 1
}

# run STATUS WORD…: runs the program, which must exit with that status.
run() {
  local expected=$1
  shift
  tools/understudy/understudy "$@" >"$folder/out" 2>"$folder/err" </dev/null
  local status=$?
  [ "$status" = "$expected" ] || fail "understudy $* exited with $status, expected $expected"
}

# prints TEXT: what the last run printed has this text.
prints() { grep -q -- "$1" "$folder/out" || fail "no '$1' in the output"; }
complains() { grep -q -- "$1" "$folder/err" || fail "no '$1' on standard error"; }

# The node has started when the clerk has its name.
for _ in $(seq 3000); do
  tools/understudy/understudy names >"$folder/out" 2>"$folder/err" && grep -q clerk "$folder/out" && break
  kill -0 "$node" 2>/dev/null || fail "the node has ended"
done

run 0 node
prints 'node desk'
prints 'allowed actions: kill, restart, drain'
run 0 ps Clerk
prints 'closed .*Clerk'
run 0 top
prints 'clerk'
run 0 actor clerk
prints 'file  *behavior  *5 '
run 0 actor clerk --json
prints '"closed_by":"behavior"'
run 0 tree
prints '  clerk .*running .*permanent'
run 0 workers
prints 'STEALS'
run 0 peers
prints 'PEER'
run 0 events
prints "child 'clerk' .*started"
run 0 dead-letters
prints 'outside any actor\|NOT_FOUND'
run 0 --help
prints 'Exit status'
run 0 kill --help
prints 'usage: understudy .*kill PID|NAME'

run 1 actor nobody
complains "'nobody' is neither a pid of node desk nor a name"
run 1 kill clerk
prints 'kill clerk on node desk? \[y/N\]'
complains 'nothing was done'
run 1 stop clerk --yes
complains 'does not allow its operator to stop clerk'
run 1 node --ops="$folder/nothing"
complains "no node answers on $folder/nothing"
run 2 frobnicate
complains "unknown command 'frobnicate'"
run 2 kill
complains "'kill' takes PID|NAME, got 0 operands"
run 2 ps --yes
complains "'ps' takes no --yes"

run 0 kill clerk --yes
prints 'told <desk'
run 0 drain --yes
wait "$node" || fail "the node exited with $?"
grep -q 'asks to kill clerk' "$folder/log" || fail "the log has no line of the action"
echo PASSED
