%% One process spawns many, which do one thing each and end.
-module(bench_fork_join_create).
-export([run/1]).

run(N) ->
    Main = self(),
    Parent = spawn(fun() -> parent(Main) end),
    Began = erlang:monotonic_time(),
    Parent ! {start, N},
    Count = bench_main:await(finish),
    Seconds = bench_main:seconds(Began),
    bench_main:end_all([Parent]),
    {Count, Seconds, 0}.

parent(Main) ->
    receive
        {start, N} ->
            fork(N),
            Main ! {finish, join(N, 0)}
    end.

fork(0) -> ok;
fork(Left) ->
    Parent = self(),
    Child = spawn(fun() -> child(Parent) end),
    Child ! {work, 1},
    fork(Left - 1).

child(Parent) ->
    receive {work, Amount} -> Parent ! {done, Amount} end.

join(0, Sum) -> Sum;
join(Left, Sum) ->
    receive {done, Amount} -> join(Left - 1, Sum + Amount) end.
