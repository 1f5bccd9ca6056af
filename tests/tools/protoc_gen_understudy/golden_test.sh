#!/bin/bash
# golden_test.sh GENERATED… GOLDEN…: what cc_actor_library made of the corpus is what the golden files hold, and has lines
# of at most 120 columns.
# Where it is not, the generated file is shown: copy it to accept it.
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
