%% Savina's "big": each of 120 processes pings a random other one, waits for its pong, and pings the next.
-module(bench_big).
-export([run/1]).

-define(PLAYERS, 120).

run(N) ->
    Main = self(),
    Players = [spawn(fun() -> player(Number, Main) end) || Number <- lists:seq(0, ?PLAYERS - 1)],
    Everybody = list_to_tuple(Players),
    [begin Player ! {meet, Everybody}, bench_main:await(met) end || Player <- Players],
    Began = erlang:monotonic_time(),
    [Player ! {start, N div ?PLAYERS} || Player <- Players],
    Count = lists:sum([bench_main:await(finish) || _ <- Players]),
    Seconds = bench_main:seconds(Began),
    N = lists:sum([begin Player ! {count, Main}, bench_main:await(pings) end || Player <- Players]),
    bench_main:end_all(Players),
    {Count, Seconds, 0}.

player(Number, Main) ->
    receive {meet, Everybody} -> Main ! {met, Number} end,
    receive
        {start, N} ->
            {Random, Other} = ping_somebody(Number, Number + 1, Everybody),
            player(Number, Main, Everybody, Random, Other, N, 0, 0)
    end.

%% Left: pongs to come. Expected: whose pong comes next. The mailbox is not searched: every message is taken at once.
player(Number, Main, Everybody, Random, Expected, Left, Pings, Pongs) ->
    receive
        {ping, From, Pid} when is_integer(From) ->
            Pid ! {pong, Number},
            player(Number, Main, Everybody, Random, Expected, Left, Pings + 1, Pongs);
        {pong, From} ->
            Expected = From,
            case Left of
                1 ->
                    Main ! {finish, Pongs + 1},
                    player(Number, Main, Everybody, Random, nobody, 0, Pings, Pongs + 1);
                _ ->
                    {NextRandom, Other} = ping_somebody(Number, Random, Everybody),
                    player(Number, Main, Everybody, NextRandom, Other, Left - 1, Pings, Pongs + 1)
            end;
        {count, From} ->
            From ! {pings, Pings},
            player(Number, Main, Everybody, Random, Expected, Left, Pings, Pongs)
    end.

%% The same numbers as in understudy's program; never oneself.
ping_somebody(Number, Random, Everybody) ->
    Next = (Random * 1103515245 + 12345) band 16#7fffffff,
    Other = (Number + 1 + (Next bsr 8) rem (?PLAYERS - 1)) rem ?PLAYERS,
    element(Other + 1, Everybody) ! {ping, Number, self()},
    {Next, Other}.
