#!/bin/bash
# program_test.sh PROGRAM: checks the program's exit statuses, and the file that an update writes.
set -u
program=$PWD/$1
bad=0
expect() { # STATUS TEXT COMMAND...: the command must exit with STATUS and print TEXT
  local status=$1 text=$2 output
  shift 2
  output=$("$@" 2>&1)
  local was=$?
  if [ $was != "$status" ] || [[ $output != *"$text"* ]]; then
    echo "expected status $status and '$text' of: $*"
    echo "got status $was and: $output"
    bad=1
  fi
}

cd "$TEST_TMPDIR" || exit 1
mkdir shop
cat >shop/stock.proto <<'END'
syntax = "proto3";
service Stock { rpc Sell(Sale) returns (Sale); }
message Sale { int32 items = 1; }
END
arguments=(--update_command=U --baseline=shop/stock.txt --file=stock.proto --source=stock.proto=shop/stock.proto)

unset BUILD_WORKSPACE_DIRECTORY
expect 2 'run this by `bazel run`' "$program" update "${arguments[@]}"
export BUILD_WORKSPACE_DIRECTORY=$TEST_TMPDIR/workspace
expect 1 'cannot be written' "$program" update "${arguments[@]}"
mkdir -p workspace/shop
expect 0 'wrote ' "$program" update "${arguments[@]}"
expect 1 'there is no baseline' "$program" check "${arguments[@]}"
cp workspace/shop/stock.txt shop/
expect 0 '' "$program" check "${arguments[@]}"
sed -i 's/items = 1/items = 2/' shop/stock.proto
expect 1 'shop/stock.proto:3:16: field Sale.items was renumbered' "$program" check "${arguments[@]}"
expect 2 "unknown argument '--baselin=x'" "$program" check --baselin=x
expect 2 'usage: ' "$program" compare "${arguments[@]}"
exit $bad
