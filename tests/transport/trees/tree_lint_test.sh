#!/bin/bash
# What an understudy_tree_test prints: of a good tree the tree, of a bad one every error, and then it fails.
set -u
cd tests/transport/trees || exit 1
failed=0

expect() { # NAME STATUS TEXT: the test of that name ends with STATUS and prints TEXT, and nothing else.
  local printed status
  printed=$(cd ../../.. && "tests/transport/trees/$1_test" "tests/transport/trees/$1.textproto" 2>&1)
  status=$?
  if [ "$status" != "$2" ]; then
    echo "$1_test ended with $status, not with $2"
    failed=1
  fi
  if [ "$printed" != "$3" ]; then
    printf '%s_test printed\n%s\nand not\n%s\n' "$1" "$printed" "$3"
    failed=1
  fi
}

expect good_tree 0 "one_for_one, at most 3 restarts in 10s
  book: permanent worker book, stopped within 5s, registered as book
  lots: permanent supervisor, stopped without limit
    rest_for_one, at most 1 restart in 5s
      lot-1: transient worker lot, stopped within 2s"

file=tests/transport/trees/bad_tree.textproto
expect bad_tree 1 "5 errors in $file:
  $file:2: intensity: -3 is negative; 0 or more restarts may be allowed
  $file:5: child 'book': actor.factory: there is no factory 'bok'; registered: book, lot
  $file:9: child 'lots': shutdown: 1s is not more than its children may take to stop, one after another (2s); give it more, or Infinity
  $file:13: child 'lots' / child 'lot-1': significant: a permanent child is always restarted, so its end never shuts the supervisor down; make it transient or temporary
  $file:14: child 'lots' / child 'lot-1': actor.argument: factory 'lot' takes a google.protobuf.StringValue, and is given none"

exit $failed
