%% Supervisors restart children that crash, again and again; reports are off. OTP's supervisor walks through the restarts
%% of its last period for each one, so each of many supervisors has few of them.
-module(bench_restart).
-behaviour(supervisor).
-export([run/1, init/1, start_child/1, start_supervisors/0, stop/1]).

-define(SUPERVISORS, 600).

run(N) ->
    {Supervisors, Children} = start_supervisors(),
    Began = erlang:monotonic_time(),
    [Child ! crash || Child <- Children],
    Count = crash(N - ?SUPERVISORS, 0),
    Seconds = bench_main:seconds(Began),
    stop(Supervisors),
    {Count, Seconds, 0}.

start_supervisors() ->
    ok = logger:set_primary_config(level, none),
    process_flag(trap_exit, true),
    Supervisors = [start_supervisor() || _ <- lists:seq(1, ?SUPERVISORS)],
    {Supervisors, [bench_main:await(up) || _ <- Supervisors]}.

stop(Supervisors) ->
    [exit(Supervisor, shutdown) || Supervisor <- Supervisors],
    [receive {'EXIT', Supervisor, shutdown} -> ok end || Supervisor <- Supervisors],
    ok.

start_supervisor() ->
    {ok, Supervisor} = supervisor:start_link(?MODULE, self()),
    Supervisor.

init(Main) ->
    {ok, {#{strategy => one_for_one, intensity => 100000000, period => 1},
          [#{id => child, start => {?MODULE, start_child, [Main]}}]}}.

start_child(Main) ->
    {ok, spawn_link(fun() -> child(Main) end)}.

child(Main) ->
    Main ! {up, self()},
    receive crash -> exit(crashed) end.

%% Crashes each child that comes up, until so many have been told to; gives how many came up.
crash(0, Seen) ->
    [bench_main:await(up) || _ <- lists:seq(1, ?SUPERVISORS)],
    Seen + ?SUPERVISORS;
crash(Left, Seen) ->
    bench_main:await(up) ! crash,
    crash(Left - 1, Seen + 1).
