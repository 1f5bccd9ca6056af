#!/bin/bash
# is_empty.sh FILE: prints the file, and fails unless it is empty.
cat "$1"
[ ! -s "$1" ]
