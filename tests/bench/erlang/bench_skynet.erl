%% A tree of processes, ten below each, whose leaves tell their numbers; each above tells the sum of those below it.
-module(bench_skynet).
-export([run/1]).

-define(CHILDREN, 10).

run(N) ->
    Main = self(),
    Began = erlang:monotonic_time(),
    spawn(fun() -> node(Main, 0, N) end),
    Sum = bench_main:await(sum),
    Seconds = bench_main:seconds(Began),
    Sum = N * (N - 1) div 2,
    {N, Seconds, 0}.

node(Above, First, 1) -> Above ! {sum, First};
node(Above, First, Leaves) ->
    Own = self(),
    Children = [spawn(fun() -> node(Own, First + Begin, End - Begin) end)
                || I <- lists:seq(0, ?CHILDREN - 1),
                   Begin <- [Leaves * I div ?CHILDREN],
                   End <- [Leaves * (I + 1) div ?CHILDREN],
                   Begin < End],
    Above ! {sum, join(length(Children), 0)}.

join(0, Sum) -> Sum;
join(Left, Sum) ->
    receive {sum, Below} -> join(Left - 1, Sum + Below) end.
