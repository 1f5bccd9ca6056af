%% A simple_one_for_one supervisor starts and stops children for thousands of clients at once.
-module(bench_pool).
-behaviour(supervisor).
-export([run/1, init/1, start_child/0]).

-define(UNIT, 600).
-define(UNITS_MAX, 16).

run(N) ->
    ok = logger:set_primary_config(level, none),
    process_flag(trap_exit, true),
    {ok, Supervisor} = supervisor:start_link(?MODULE, []),
    Count = clients(N, min(?UNITS_MAX, N div ?UNIT)),
    Main = self(),
    Clients = [spawn(fun() -> client(Main, Supervisor) end) || _ <- lists:seq(1, Count)],
    Began = erlang:monotonic_time(),
    [Client ! {start, N div Count} || Client <- Clients],
    Sum = lists:sum([bench_main:await(finish) || _ <- Clients]),
    Seconds = bench_main:seconds(Began),
    exit(Supervisor, shutdown),
    receive {'EXIT', Supervisor, shutdown} -> ok end,
    {Sum, Seconds, 0}.

clients(N, Units) when N div ?UNIT rem Units =:= 0 -> Units * ?UNIT;
clients(N, Units) -> clients(N, Units - 1).

client(Main, Supervisor) ->
    receive {start, Rounds} -> Main ! {finish, rounds(Supervisor, Rounds, 0)} end.

rounds(_, 0, Seen) ->
    Seen;
rounds(Supervisor, Left, Seen) ->
    {ok, Child} = supervisor:start_child(Supervisor, []),
    ok = supervisor:terminate_child(Supervisor, Child),
    rounds(Supervisor, Left - 1, Seen + 1).

init([]) ->
    {ok, {#{strategy => simple_one_for_one},
          [#{id => child, start => {?MODULE, start_child, []}, restart => temporary}]}}.

start_child() ->
    {ok, spawn_link(fun() -> child(0) end)}.

child(Done) ->
    receive {work, Amount} -> child(Done + Amount) end.
