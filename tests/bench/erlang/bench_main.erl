%% One run of one workload, measured, as understudy_bench does it:
%%   erl -noshell -pa FOLDER +S 2:2 +P 2000000 -run bench_main main ping_pong 1200000
-module(bench_main).
-export([main/1, seconds/1, latencies/1, await/1, end_all/1]).

main([Workload, OperationsText]) ->
    Operations = list_to_integer(OperationsText),
    Module = list_to_atom("bench_" ++ Workload),
    WarmUp = Operations div 10 div 600 * 600,
    case WarmUp > 0 andalso Workload =/= "idle_memory" of
        true -> Module:run(WarmUp);
        false -> ok
    end,
    {Count, Seconds, Bytes, Latencies} =
        case Module:run(Operations) of
            {C, S, B} -> {C, S, B, []};
            WithLatencies -> WithLatencies
        end,
    Count = Operations,
    io:format("workload=~s count=~b seconds=~.6f bytes=~b capacity=unbounded", [Workload, Count, Seconds, Bytes]),
    io:format("~s~n", [latencies(lists:sort(Latencies))]),
    halt(0).

latencies([]) ->
    "";
latencies(Sorted) ->
    At = fun(Part) -> microseconds(lists:nth(trunc(length(Sorted) * Part) + 1, Sorted)) end,
    io_lib:format(" median_us=~.3f p99_us=~.3f", [At(0.5), At(0.99)]).

microseconds(Native) ->
    erlang:convert_time_unit(Native, native, nanosecond) / 1.0e3.

%% Since Began, of erlang:monotonic_time().
seconds(Began) ->
    erlang:convert_time_unit(erlang:monotonic_time() - Began, native, nanosecond) / 1.0e9.

%% What {Tag, Value} brings.
await(Tag) ->
    receive {Tag, Value} -> Value end.

%% Kills these processes and waits until they are gone.
end_all(Pids) ->
    Monitors = [monitor(process, Pid) || Pid <- Pids],
    [exit(Pid, kill) || Pid <- Pids],
    [receive {'DOWN', Monitor, process, _, _} -> ok end || Monitor <- Monitors],
    ok.
