#!/bin/bash
# golden_test.sh GENERATED… GOLDEN…: checks that the files that cc_actor_library generates from the corpus are equal to
# the golden files and have lines of at most 120 columns. The command that accepts a changed file is printed.
set -u
declare -A generated
bad=0 compared=0
for file; do
  case $file in
    *.golden)
      made=${generated[$(basename "$file" .golden)]:-}
      compared=$((compared + 1))
      diff -u "$file" "$made" || { echo "to accept: cp -f bazel-bin/${made#bazel-out/*/bin/} $file" && bad=1; }
      ;;
    *)
      generated[$(basename "$file")]=$file
      awk -v file="$file" 'length > 120 { print file ":" FNR ": " length " columns"; bad = 1 } END { exit bad }' "$file" || bad=1
      ;;
  esac
done
echo "$compared files compared"
[ "$compared" -gt 0 ] && exit $bad
