%% Twenty producers send to one process.
-module(bench_contention).
-export([run/1]).

run(N) ->
    Main = self(),
    Sink = spawn(fun() -> sink(N, 0, Main) end),
    Producers = [spawn(fun() -> producer(Sink) end) || _ <- lists:seq(1, 20)],
    Began = erlang:monotonic_time(),
    [Producer ! {start, N div 20} || Producer <- Producers],
    Count = bench_main:await(finish),
    Seconds = bench_main:seconds(Began),
    bench_main:end_all([Sink | Producers]),
    {Count, Seconds, 0}.

sink(0, Sum, Main) ->
    Main ! {finish, Sum};
sink(Left, Sum, Main) ->
    receive {add, Amount} -> sink(Left - 1, Sum + Amount, Main) end.

producer(Sink) ->
    receive {start, N} -> produce(Sink, N) end.

produce(_Sink, 0) -> ok;
produce(Sink, Left) ->
    Sink ! {add, 1},
    produce(Sink, Left - 1).
