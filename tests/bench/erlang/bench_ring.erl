%% A ring of 100 processes through which one token goes.
-module(bench_ring).
-export([run/1]).

run(N) ->
    Main = self(),
    Members = [First | _] = [spawn(fun() -> member(Main) end) || _ <- lists:seq(1, 100)],
    [Member ! {next, Next} || {Member, Next} <- lists:zip(Members, tl(Members) ++ [First])],
    _ = hops(Members),
    Began = erlang:monotonic_time(),
    First ! {token, N},
    _ = bench_main:await(finish),
    Seconds = bench_main:seconds(Began),
    Count = hops(Members),
    bench_main:end_all(Members),
    {Count, Seconds, 0}.

hops(Members) ->
    lists:sum([begin Member ! {count, self()}, bench_main:await(hops) end || Member <- Members]).

member(Main) ->
    receive {next, Next} -> member(Main, Next, 0) end.

member(Main, Next, Hops) ->
    receive
        {token, 1} ->
            Main ! {finish, 1},
            member(Main, Next, Hops + 1);
        {token, Left} ->
            Next ! {token, Left - 1},
            member(Main, Next, Hops + 1);
        {count, From} ->
            From ! {hops, Hops},
            member(Main, Next, Hops)
    end.
