"""Erlang's and CAF's programs: installs their packages, builds them, and says how they are run."""

import concurrent.futures
import hashlib
import os
import subprocess

from workloads import WORKLOADS

PACKAGES = {"erlang": ["erlang-base"], "caf": ["libcaf-dev", "g++"]}
CAF_COMPILE = ["g++", "-std=c++17", "-O3", "-DNDEBUG"]
CAF_LINK = ["-lcaf_core", "-pthread"]
CAF_REMOTE_LINK = ["-lcaf_io"] + CAF_LINK
# More than any workload spawns; the default is a quarter of a million.
ERLANG_PROCESSES_MAX = 2_000_000


class PeerError(Exception):
    """A peer cannot be had; the text says why."""


def install(workspace, systems):
    """Installs the packages of `systems` that are missing, as bazelw installs packages."""
    wanted = [package for system in systems for package in PACKAGES.get(system, [])]
    if not wanted:
        return
    environment = dict(os.environ, BAZELW_ALSO=" ".join(wanted))
    done = subprocess.run(["./bazelw", "--version"], cwd=workspace, env=environment, stdout=subprocess.DEVNULL,
                          check=False)
    if done.returncode != 0:
        raise PeerError("the packages of the peers cannot be installed: " + " ".join(wanted))


def _run(command, folder):
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        raise PeerError(" ".join(command) + "\n" + done.stdout.decode(errors="replace"))
    return done.stdout


def _key(system, command, sources):
    """Changes with the sources, with how they are compiled, and with the versions of the system's packages."""
    digest = hashlib.sha256(repr(command).encode() + _run(["dpkg-query", "--show", *PACKAGES[system]], None))
    for path in sources:
        with open(path, "rb") as file:
            digest.update(path.encode() + b"\0" + file.read())
    return digest.hexdigest()[:16]


def _sources(folder, suffixes):
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(suffixes)]


def erlang_folder(source, cache):
    """Builds the modules of the folder `source`; returns the folder of the built ones."""
    sources = _sources(source, ".erl")
    command = ["erlc", "-Werror", "-o", "."]
    folder = os.path.join(cache, "erlang-" + _key("erlang", command, sources))
    if not os.path.exists(os.path.join(folder, "done")):
        os.makedirs(folder, exist_ok=True)
        _run(command + sources, folder)
        open(os.path.join(folder, "done"), "w", encoding="utf-8").close()
    return folder


def build_erlang(source, cache):
    """Builds the modules of the folder `source`; returns the command of a run."""
    folder = erlang_folder(source, cache)

    def run(workload, operations, threads):
        return ["erl", "-noshell", "-pa", folder, "+S", f"{threads}:{threads}", "+P", str(ERLANG_PROCESSES_MAX),
                "-run", "bench_main", "main", workload, str(operations)]

    return run


def build_caf(source, cache):
    """Builds a program for each workload; returns the command of a run."""
    sources = _sources(source, (".cc", ".h"))
    folder = os.path.join(cache, "caf-" + _key("caf", CAF_COMPILE + CAF_LINK, sources))
    if not os.path.exists(os.path.join(folder, "done")):
        os.makedirs(folder, exist_ok=True)
        main = os.path.join(source, "main.cc")

        def build(workload):
            own = os.path.join(source, workload.name + ".cc")
            _run(CAF_COMPILE + [main, own, "-o", "caf_" + workload.name] + CAF_LINK, folder)

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(build, [workload for workload in WORKLOADS if "caf" in workload.systems]))
        open(os.path.join(folder, "done"), "w", encoding="utf-8").close()

    def run(workload, operations, threads):
        return [os.path.join(folder, "caf_" + workload), workload, str(operations), str(threads)]

    return run


def build_caf_remote(source, cache):
    """Builds the program of the workloads between processes, remote.cc; returns its path."""
    sources = [os.path.join(source, name) for name in ("caf_bench.h", "remote.cc")]
    folder = os.path.join(cache, "caf-remote-" + _key("caf", CAF_COMPILE + CAF_REMOTE_LINK, sources))
    program = os.path.join(folder, "caf_remote")
    if not os.path.exists(program):
        os.makedirs(folder, exist_ok=True)
        _run(CAF_COMPILE + [sources[1], "-o", "linking"] + CAF_REMOTE_LINK, folder)
        os.rename(os.path.join(folder, "linking"), program)
    return program


def versions():
    """The versions of the peers' packages that are installed, in a line."""
    done = subprocess.run(["dpkg-query", "--show", "erlang-base", "libcaf-dev"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False)
    return ", ".join(line.replace("\t", " ") for line in done.stdout.decode().splitlines())
