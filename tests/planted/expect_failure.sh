#!/bin/bash
# expect_failure.sh CONFIG TARGET TEXT [BAZEL OPTION...]: TARGET must pass its build and fail as a test under
# --config=CONFIG, with TEXT in its log. Exits 0 if it does.
set -u
config=$1 target=$2 text=$3
shift 3
cd "$(dirname "$0")/../.."

./bazelw test --config="$config" --test_output=summary "$@" "$target"
status=$?
log=$(./bazelw info --config="$config" "$@" bazel-testlogs 2>/dev/null)/${target#//}
log=${log/:/\/}/test.log
if [ $status != 3 ]; then  # 3: the build is good, the test failed
  echo "expect_failure: $target passed or was not built (Bazel says $status) under --config=$config" >&2
  exit 1
fi
if ! grep -q "$text" "$log"; then
  echo "expect_failure: $target failed under --config=$config, but $log does not say \"$text\"" >&2
  exit 1
fi
echo "expect_failure: $config found \"$text\" in $target, as it must"
