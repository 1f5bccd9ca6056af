#!/bin/bash
# Runs the program `understudy` against a node in a process of its own, and checks its output and exit status.
set -u

folder=$(mktemp -d /tmp/understudy-test.XXXXXX)  # short, because the length of a socket's path is bounded
tests/tools/understudy/desk_node "$folder/ops" 2>"$folder/log" &
node=$!
follower=
trap 'kill "$node" $follower 2>/dev/null; rm -rf "$folder"' EXIT
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

# prints TEXT: fails unless the output of the last run contains TEXT.
prints() { grep -q -- "$1" "$folder/out" || fail "no '$1' in the output"; }
complains() { grep -q -- "$1" "$folder/err" || fail "no '$1' on standard error"; }

# The node has started when the name of its clerk is listed.
for _ in $(seq 3000); do
  tools/understudy/understudy names >"$folder/out" 2>"$folder/err" && grep -q clerk "$folder/out" && break
  kill -0 "$node" 2>/dev/null || fail "the node has ended"
done

run 0 node
prints 'node desk'
prints 'allowed actions: kill, restart, drain, suspend, resume, trace'
run 0 ps Clerk
prints 'closed .*Clerk'
run 0 top
prints 'clerk'
run 0 top --by=waiting-bytes
run 0 top --by=age
prints 'AGE'
run 0 waits
prints 'WAITS FOR'
run 0 top --by=handler-time
prints 'one of 128 runs'
run 0 actor clerk
prints 'file  *behavior  *5 '
run 0 actor clerk --json
prints '"closed_by":"behavior"'
run 0 tree
prints '  clerk .*running .*permanent'
run 0 tree --dot
prints 'label="clerk\\n<desk'
run 0 waits --dot
prints 'digraph waits {'
run 0 peers --dot
prints 'label="desk"'
run 0 workers
prints 'STEALS'
run 0 peers
prints 'PEER'
run 0 events
prints "child 'clerk' .*started"
run 0 dead-letters
prints 'outside any actor\|NOT_FOUND'
for _ in $(seq 3000); do
  run 0 crashes
  grep -q Frail "$folder/out" && break
done
prints 'Frail)) in the handler of an event: Failed(INTERNAL: frail); a child of <desk'
prints '    20.*  break  int  4 bytes from <desk'
run 0 crashes --json
prints '"mailbox":"break"'

# A follower of crashes prints the two crashes that the node has kept, and then each new crash until the node ends.
tools/understudy/understudy crashes --follow >"$folder/follower" 2>"$folder/follower.err" </dev/null &
follower=$!
follower_has() {  # follower_has N: waits for the Nth crash
  for _ in $(seq 3000); do
    [ "$(grep -c 'Frail)) in the handler of an event: Failed(INTERNAL: frail)' "$folder/follower")" -ge "$1" ] && return
    kill -0 "$follower" 2>/dev/null || fail "crashes --follow has ended: $(cat "$folder/follower.err")"
    sleep 0.01
  done
  fail "crashes --follow has not told crash $1: $(cat "$folder/follower")"
}
follower_has 2
run 0 actor clerk
run 0 restart "$(sed -n 's/^parent: //p' "$folder/out")" frail --yes
follower_has 4
[ "$(grep -c '^    20.*  break  int  4 bytes from <desk' "$folder/follower")" = 4 ] ||
  fail "the follower lacks the messages of a crash: $(cat "$folder/follower")"
run 0 --help
prints 'Exit status'
run 0 help kill
prints 'usage: understudy kill PID|NAME'
run 0 kill --help
prints 'usage: understudy kill PID|NAME'

run 1 actor nobody
complains "'nobody' is neither a pid of node desk nor a name"
run 1 kill clerk
complains 'kill <desk.*> (clerk) on node desk? \[y/N\]'
complains 'nothing was done: the answer was not y'
run 1 stop clerk --yes
complains 'does not allow user .* to stop clerk'
run 1 log-level info
complains 'set the log level of node desk to info; it is [a-z]*? \[y/N\]'
run 1 log-level info --yes
complains 'does not allow user .* to set the log level to info'
run 1 node --ops="$folder/nothing"
complains "cannot reach the node's socket $folder/nothing: No such file or directory"
run 1 node --ops="$folder"
complains "$folder is not a socket"
run 1 actor '<desk.0.x>'
complains "'<desk.0.x>' is neither a pid of node desk nor a name"
run 1 restart clerk lamp --yes
complains 'understudy: '
run 2 frobnicate
complains "unknown command 'frobnicate'"
run 2 kill
complains "'kill' takes PID|NAME, got nothing"
run 2 ps --yes
complains "'ps' takes no --yes"

run 0 actor clerk
prints '^parent: <desk'
run 0 restart "$(sed -n 's/^parent: //p' "$folder/out")" clerk --yes
prints "child 'clerk' runs as <desk"

printf 'child { id: "a" actor { factory: "b" } }\n' >"$folder/good.textproto"
printf 'intensity: 3\nchild { id: "a" colour: 1 }\n' >"$folder/bad.textproto"
UNDERSTUDY_OPS= run 0 lint "$folder/good.textproto"
prints 'no errors. The names and arguments of factories are not checked'
UNDERSTUDY_OPS= run 1 lint "$folder/bad.textproto"
prints "bad.textproto:2:[0-9]*: .*no field named \"colour\""
prints "bad.textproto:2: child 'a': actor: is missing"
complains 'has 2 errors'
BUILD_WORKING_DIRECTORY=$folder run 0 lint good.textproto  # with the environment of `bazel run`
BUILD_WORKING_DIRECTORY=$folder run 0 --ops=ops node
run 1 lint "$folder/none.textproto"
complains 'No such file or directory'

# A failure to write to standard output must be reported as an error.
tools/understudy/understudy ps >/dev/full 2>"$folder/err" && fail "a full disk is not an error"
complains 'cannot write to standard output'

# `observe` prints the page's address, serves the page, and ends at a signal.
run 2 observe --port=70000
complains "'70000' is not a port"
run 1 observe "$folder/nothing"
complains "cannot reach the node's socket $folder/nothing"
touch "$folder/empty.pem"
set -- "--cert=$folder/empty.pem" "--key=$folder/empty.pem" "--ca=$folder/empty.pem"
run 1 observe "$folder/ops" tls://desk@127.0.0.1:7000 "$@"
complains "empty.pem' is not a PEM file"
run 0 observe --help
prints 'usage: understudy observe \[ADDRESS...\] \[--port=N\]'
BUILD_WORKING_DIRECTORY=$folder tools/understudy/understudy observe ops nothing >"$folder/page" 2>"$folder/err" </dev/null &
page=$!
for _ in $(seq 3000); do
  [ -s "$folder/page" ] && break
  kill -0 "$page" 2>/dev/null || fail "observe has ended"
  sleep 0.01
done
grep -qE '^http://127\.0\.0\.1:[0-9]+/#[0-9a-f]{32}$' "$folder/page" || fail "it printed $(cat "$folder/page")"
port=$(sed 's,.*:\([0-9]*\)/.*,\1,' "$folder/page")
exec 3<>"/dev/tcp/127.0.0.1/$port"
printf 'GET / HTTP/1.1\r\nHost: 127.0.0.1:%s\r\n\r\n' "$port" >&3
grep -q '<title>Understudy observer</title>' <&3 || fail 'the page was not served'
exec 3>&-
kill -TERM "$page"
wait "$page" || fail "observe exited with $?"

# Completion of the next word. COMP_WORDS has the words as bash splits them.
run 0 completion bash
completes() {
  local expected=$1
  shift
  local got
  got=$(bash -c 'source "$0"; compopt() { :; }; COMP_WORDS=(understudy "$@"); COMP_CWORD=$(($# )); _understudy
    echo "${COMPREPLY[*]}"' "$folder/script" "$@")
  [ "$got" = "$expected" ] || fail "completed '$*' to '$got', expected '$expected'"
}
cp "$folder/out" "$folder/script"
completes 'peers' pe
completes '--json' top --j
completes 'kill' --ops = "$folder/ops" ki
completes '--yes' --ops "$folder/ops" kill --y
completes "$folder/good.textproto" lint "$folder/go"
completes "$folder/ops" --ops = "$folder/op"
completes '--port=' observe --po
completes '--dot' waits --d
completes 'tree' cluster tr
completes 'names' cluster na
completes '--watch' --by age top --w
completes 'age' top --by ag
completes 'waiting waiting-bytes' top --by = wait
completes '' observe --port =
run 2 completion zsh
complains "'completion' takes bash, got 'zsh'"

run 1 suspend clerk 30s
complains 'suspend <desk.*> (clerk) on node desk for 30s? \[y/N\]'
run 1 suspend clerk 11m --yes
complains 'expected more than 0 and at most 10m'
run 0 suspend clerk 5m --yes
prints 'suspend clerk for 5m'
run 0 actor clerk
prints 'suspended for [45]m'
prints 'file  *suspension'
run 0 resume clerk --yes
run 0 actor clerk
prints 'file  *behavior'

run 0 trace clerk --messages=1 --for=10ms
run 1 trace clerk --contents
complains 'show the contents of the messages of clerk, which may be private? \[y/N\]'
run 1 trace clerk --contents --yes
complains 'lacks trace contents'
BUILD_WORKING_DIRECTORY=$folder run 0 cluster ps ops
prints 'Clerk'
run 1 cluster top "$folder/ops" "$folder/nothing"
prints 'clerk'
complains "$folder/nothing: cannot reach"
complains '1 of 2 nodes did not answer'
run 0 cluster tree "$folder/ops" --dot
prints 'label="clerk\\n<desk'
run 2 cluster ps "$folder/ops" --dot
complains "'cluster ps' takes no --dot: expected tree, waits or peers"
run 0 cluster waits "$folder/ops"
prints 'WAITS FOR'
run 0 cluster waits "$folder/ops" --dot
prints 'digraph waits {'
run 0 cluster top "$folder/ops" --by=age
prints 'clerk'
run 2 cluster top "$folder/ops" --by=handler-time
complains "'cluster top' takes no --by=handler-time: expected top with waiting, age or waiting-bytes"
run 2 cluster frob "$folder/ops"
complains "cluster does not show 'frob'"

run 0 kill clerk --yes
prints 'told <desk'
run 0 drain --yes
wait "$node" || fail "the node exited with $?"
wait "$follower" && fail "crashes --follow exited with 0 although the node ended"
grep -q 'the node has ended the connection' "$folder/follower.err" || fail "it said $(cat "$folder/follower.err")"
run 1 node
complains "cannot reach the node's socket"
grep -q 'asks to kill clerk' "$folder/log" || fail "the log has no line of the action"
echo PASSED
