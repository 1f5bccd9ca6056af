"""The workloads and the systems of the comparison, as compare knows them."""

import collections

# operations: how many each run does, a multiple of 600 so that each producer and each player has the same share;
# chosen so that the slowest system takes a few seconds. by_bytes: what is measured is memory, not time.
# systems: who has it.
Workload = collections.namedtuple("Workload", "name operation operations by_bytes systems",
                                  defaults=(("understudy", "erlang", "caf"),))

WORKLOADS = [
    Workload("ping_pong", "round trip", 3_000_000, False),
    Workload("ring", "hop", 6_000_000, False),
    Workload("counting", "message", 6_000_000, False),
    Workload("contention", "message", 6_000_000, False),
    Workload("big", "round trip", 3_000_000, False),
    Workload("fork_join_create", "actor", 600_000, False),
    Workload("fork_join_throughput", "message", 6_000_000, False),
    Workload("chameneos", "meeting", 1_200_000, False),
    Workload("spawn_keep", "actor", 600_000, False),
    Workload("skynet", "leaf", 600_000, False),
    Workload("counting_bounded", "message", 3_000_000, False, ("understudy",)),
    Workload("contention_bounded", "message", 3_000_000, False, ("understudy",)),
    Workload("ask", "ask", 1_200_000, False),
    Workload("become", "message", 6_000_000, False),
    Workload("guard_miss", "message", 3_000_000, False),
    Workload("multicast_simple", "message", 6_000_000, False, ("understudy", "one_thread")),
    Workload("multicast_ack", "message", 6_000_000, False, ("understudy", "one_thread")),
    Workload("multicast_group", "message", 6_000_000, False, ("understudy", "one_thread")),
    Workload("restart", "restart", 60_000, False, ("understudy", "erlang")),
    Workload("restart_latency", "restart", 60_000, False, ("understudy", "erlang")),
    Workload("pool", "child", 240_000, False, ("understudy", "erlang")),
    Workload("pool_sharded", "child", 240_000, False, ("understudy", "erlang")),
    Workload("idle_memory", "bytes/actor", 1_000_200, True),
]
# one_thread: understudy again, with one scheduler thread; of workloads that ask what a second one gives.
SYSTEMS = ["understudy", "erlang", "caf", "one_thread"]
UNIT = 600


def scaled(workload, scale):
    """The workload with `scale` times its operations, at least one unit."""
    units = max(1, round(workload.operations * scale / UNIT))
    return workload._replace(operations=units * UNIT)
