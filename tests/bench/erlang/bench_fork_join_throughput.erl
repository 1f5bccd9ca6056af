%% One process sends to each of 60, round after round, and does not wait for them.
-module(bench_fork_join_throughput).
-export([run/1]).

-define(WORKERS, 60).

run(N) ->
    Main = self(),
    Rounds = N div ?WORKERS,
    Director = spawn(fun() -> director(Main) end),
    Workers = [spawn(fun() -> work(Director, Rounds, 0) end) || _ <- lists:seq(1, ?WORKERS)],
    Began = erlang:monotonic_time(),
    Director ! {start, Workers, Rounds},
    Count = bench_main:await(finish),
    Seconds = bench_main:seconds(Began),
    bench_main:end_all([Director | Workers]),
    {Count, Seconds, 0}.

director(Main) ->
    receive
        {start, Workers, Rounds} ->
            fork(Workers, Rounds),
            Main ! {finish, join(?WORKERS, 0)}
    end.

fork(_, 0) -> ok;
fork(Workers, Left) ->
    [Worker ! {work, 1} || Worker <- Workers],
    fork(Workers, Left - 1).

work(Director, 0, Sum) -> Director ! {done, Sum};
work(Director, Left, Sum) ->
    receive {work, Amount} -> work(Director, Left - 1, Sum + Amount) end.

join(0, Sum) -> Sum;
join(Left, Sum) ->
    receive {done, Amount} -> join(Left - 1, Sum + Amount) end.
