%% Savina's "chameneos": 100 creatures meet in pairs at a mall, which shows the first of a pair the second one.
-module(bench_chameneos).
-export([run/1]).

-define(CREATURES, 100).

run(N) ->
    Main = self(),
    Mall = spawn(fun() -> mall(Main) end),
    Began = erlang:monotonic_time(),
    Mall ! {start, N},
    Met = bench_main:await(finish),
    Seconds = bench_main:seconds(Began),
    Met = 2 * N,
    bench_main:end_all([Mall]),
    {N, Seconds, 0}.

mall(Main) ->
    receive {start, N} -> ok end,
    Mall = self(),
    [spawn(fun() -> go(Mall, Number rem 3, 0) end) || Number <- lists:seq(0, ?CREATURES - 1)],
    open(N),
    Main ! {finish, close(?CREATURES, 0)}.

open(0) -> ok;
open(Left) ->
    receive {meet, First, _} -> ok end,
    receive {meet, Second, Colour} -> First ! {other, Second, Colour} end,
    open(Left - 1).

close(0, Met) -> Met;
close(Left, Met) ->
    receive
        {meet, Creature, _} ->
            Creature ! close,
            close(Left, Met);
        {home, Meetings} ->
            close(Left - 1, Met + Meetings)
    end.

go(Mall, Colour, Met) ->
    Mall ! {meet, self(), Colour},
    receive
        {other, Creature, OfOther} ->
            Own = complement(Colour, OfOther),
            Creature ! {change, Own},
            go(Mall, Own, Met + 1);
        {change, OfOther} ->
            go(Mall, complement(Colour, OfOther), Met + 1);
        close ->
            Mall ! {home, Met}
    end.

complement(Colour, Colour) -> Colour;
complement(Colour, Other) -> 3 - Colour - Other.
