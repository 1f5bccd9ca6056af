%% Two processes: one pings, the other answers each ping with a pong.
-module(bench_ping_pong).
-export([run/1]).

run(N) ->
    Main = self(),
    Ponger = spawn(fun() -> ponger(0) end),
    Pinger = spawn(fun() -> pinger(Ponger, Main) end),
    Began = erlang:monotonic_time(),
    Pinger ! {start, N},
    Count = bench_main:await(finish),
    Seconds = bench_main:seconds(Began),
    Ponger ! {count, Main},
    N = bench_main:await(pings),
    bench_main:end_all([Ponger, Pinger]),
    {Count, Seconds, 0}.

ponger(Pings) ->
    receive
        {ping, Number, From} ->
            From ! {pong, Number},
            ponger(Pings + 1);
        {count, From} ->
            From ! {pings, Pings},
            ponger(Pings)
    end.

pinger(Ponger, Main) ->
    receive
        {start, N} ->
            Ponger ! {ping, N, self()},
            Main ! {finish, pinger(Ponger, N, 0)}
    end.

pinger(Ponger, Left, Pongs) ->
    receive
        {pong, Left} when Left =:= 1 ->
            Pongs + 1;
        {pong, Left} ->
            Ponger ! {ping, Left - 1, self()},
            pinger(Ponger, Left - 1, Pongs + 1)
    end.
