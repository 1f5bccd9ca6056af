%% A process goes to its other receive with each message that a producer sends.
-module(bench_become).
-export([run/1]).

run(N) ->
    Main = self(),
    Toggle = spawn(fun() -> even(N, 0, 0, Main) end),
    Producer = spawn(fun() -> receive {start, Ticks} -> produce(Toggle, Ticks) end end),
    Began = erlang:monotonic_time(),
    Producer ! {start, N},
    Count = bench_main:await(finish),
    Seconds = bench_main:seconds(Began),
    bench_main:end_all([Toggle, Producer]),
    {Count, Seconds, 0}.

even(0, Evens, Odds, Main) ->
    Evens = Odds,
    Main ! {finish, Evens + Odds};
even(Left, Evens, Odds, Main) ->
    receive {tick, Amount} -> odd(Left - 1, Evens + Amount, Odds, Main) end.

odd(Left, Evens, Odds, Main) ->
    receive {tick, Amount} -> even(Left - 1, Evens, Odds + Amount, Main) end.

produce(_Toggle, 0) -> ok;
produce(Toggle, Left) ->
    Toggle ! {tick, 1},
    produce(Toggle, Left - 1).
