%% A producer sends what a selective receive skips, and then what opens the gate; all is then handled.
-module(bench_guard_miss).
-export([run/1]).

run(N) ->
    Main = self(),
    Gate = spawn(fun() -> closed(Main) end),
    Producer = spawn(fun() -> receive {start, Messages} -> produce(Gate, Messages, Messages) end end),
    Began = erlang:monotonic_time(),
    Producer ! {start, N},
    Count = bench_main:await(finish),
    Seconds = bench_main:seconds(Began),
    bench_main:end_all([Gate, Producer]),
    {Count, Seconds, 0}.

closed(Main) ->
    receive {open, Expected} -> Main ! {finish, opened(Expected, 0)} end.

opened(0, Sum) -> Sum;
opened(Left, Sum) ->
    receive {add, Amount} -> opened(Left - 1, Sum + Amount) end.

produce(Gate, 0, Sent) ->
    Gate ! {open, Sent};
produce(Gate, Left, Sent) ->
    Gate ! {add, 1},
    produce(Gate, Left - 1, Sent).
