%% As bench_restart, one child at a time: how long from the message that crashes it until its successor says that it is up.
-module(bench_restart_latency).
-export([run/1]).

run(N) ->
    {Supervisors, Children} = bench_restart:start_supervisors(),
    Began = erlang:monotonic_time(),
    Latencies = crash(queue:from_list(Children), N, []),
    Seconds = bench_main:seconds(Began),
    bench_restart:stop(Supervisors),
    {length(Latencies), Seconds, 0, Latencies}.

crash(_, 0, Latencies) ->
    Latencies;
crash(Children, Left, Latencies) ->
    {{value, Child}, Others} = queue:out(Children),
    Crashed = erlang:monotonic_time(),
    Child ! crash,
    Successor = bench_main:await(up),
    crash(queue:in(Successor, Others), Left - 1, [erlang:monotonic_time() - Crashed | Latencies]).
