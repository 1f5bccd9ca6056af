%% One producer sends increments to a counter, and then asks for the total.
-module(bench_counting).
-export([run/1]).

run(N) ->
    Main = self(),
    Counter = spawn(fun() -> counter(0) end),
    Producer = spawn(fun() -> producer(Counter, Main) end),
    Began = erlang:monotonic_time(),
    Producer ! {start, N},
    Count = bench_main:await(finish),
    Seconds = bench_main:seconds(Began),
    bench_main:end_all([Counter, Producer]),
    {Count, Seconds, 0}.

counter(Sum) ->
    receive
        {add, Amount} ->
            counter(Sum + Amount);
        {total, From} ->
            From ! {total, Sum},
            counter(Sum)
    end.

producer(Counter, Main) ->
    receive
        {start, N} ->
            produce(Counter, N),
            Counter ! {total, self()},
            Main ! {finish, bench_main:await(total)}
    end.

produce(_Counter, 0) -> ok;
produce(Counter, Left) ->
    Counter ! {add, 1},
    produce(Counter, Left - 1).
