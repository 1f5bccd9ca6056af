#!/bin/bash
# expect_words.sh TEXT COMMAND...: COMMAND must fail, and must print TEXT. Exits 0 if it does.
set -u
text=$1
shift
cd "$(dirname "$(realpath "$0")")/../.."

if printed=$("$@" 2>&1); then
  echo "expect_words: this succeeded, but must find its planted defect: $*" >&2
  exit 1
fi
if ! grep -qF "$text" <<<"$printed"; then
  echo "expect_words: this failed without saying \"$text\": $*: $printed" >&2
  exit 1
fi
echo "expect_words: found \"$text\", as it must: $*"
