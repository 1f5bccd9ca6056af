%% What stands beside a pool of several shards: the same one supervisor, OTP has none that shares its children out.
-module(bench_pool_sharded).
-export([run/1]).

run(N) -> bench_pool:run(N).
