#!/usr/bin/python3
"""run_mutants.py [WORDS]: puts the mutants of mutants.txt one by one into a copy of the tree; the tests must find them.

With WORDS: only the mutants whose line has them. The copy is that of the commit, in $TMPDIR/understudy_mutants, with a
Bazel of its own; both stay for the next call. Exits 0 if each test passes without its mutant and fails with it.
"""

import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "../source"))

import mutants as mutant_list  # noqa: E402

ROOT = os.path.realpath(os.path.join(HERE, "../.."))
PLACE = os.path.join(os.environ.get("TMPDIR", tempfile.gettempdir()), "understudy_mutants")
TREE = os.path.join(PLACE, "tree")
# Exit statuses of `bazel test`.
PASSED, BUILD_FAILED, TESTS_FAILED = 0, 1, 3


def copy_tree():
    archive = subprocess.run(["git", "-C", ROOT, "archive", "HEAD"], check=True, capture_output=True).stdout
    subprocess.run(["rm", "-rf", TREE], check=True)
    os.makedirs(TREE)
    subprocess.run(["tar", "-x", "-C", TREE], input=archive, check=True)
    own_settings = os.path.join(ROOT, ".bazelrc.user")
    if os.path.exists(own_settings):
        shutil.copy(own_settings, TREE)


def bazel_test(targets):
    command = ["./bazelw", f"--output_user_root={PLACE}/bazel", "test", "--color=no", "--curses=no",
               "--noshow_progress", "--test_output=summary", "--keep_going", "--test_timeout=120"]
    done = subprocess.run(command + targets, cwd=TREE, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def verdict(mutant):
    path = os.path.join(TREE, mutant.file)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(mutant.old, mutant.new))
    try:
        status, output = bazel_test([mutant.test])
    finally:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    if status == TESTS_FAILED:
        return "found", ""
    return ("does not build" if status == BUILD_FAILED else "NOT found"), output


def main():
    with open(os.path.join(ROOT, mutant_list.LIST), encoding="utf-8") as file:
        words = " ".join(sys.argv[1:])
        chosen = [mutant for mutant in mutant_list.parse(file.read()) if words in mutant.what]
    os.makedirs(PLACE, exist_ok=True)
    copy_tree()
    status, output = bazel_test(sorted({mutant.test for mutant in chosen}))
    if status != PASSED:
        print(output)
        sys.exit("run_mutants: the tests do not pass without a mutant")
    missed = 0
    for mutant in chosen:
        result, output = verdict(mutant)
        print(f"{result}: {mutant.what} ({mutant.test})", flush=True)
        if result != "found":
            missed += 1
            print(output, flush=True)
    subprocess.run(["./bazelw", f"--output_user_root={PLACE}/bazel", "shutdown"], cwd=TREE, check=False)
    print(f"run_mutants: {len(chosen) - missed} of {len(chosen)} mutants found")
    sys.exit(1 if missed or not chosen else 0)


if __name__ == "__main__":
    main()
