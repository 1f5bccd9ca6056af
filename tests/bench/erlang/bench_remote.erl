%% One run between two nodes of this machine, measured, as remote_bench does it:
%%   erl -noshell -name client@127.0.0.1 -setcookie C -pa FOLDER -run bench_remote main round_trip_1 20000
%% It starts the other node itself. Messages have a binary of 64 bytes.
-module(bench_remote).
-behaviour(gen_server).
-export([main/1, serve/1, echo/0, counter/3, init/1, handle_call/3, handle_cast/2]).

main([Workload, OperationsText]) ->
    Operations = list_to_integer(OperationsText),
    Server = start_server(),
    {Seconds, Latencies} = run(Workload, Server, Operations),
    io:format("workload=~s count=~b seconds=~.6f bytes=0 capacity=unbounded", [Workload, Operations, Seconds]),
    io:format("~s~n", [bench_main:latencies(lists:sort(Latencies))]),
    spawn(Server, erlang, halt, [0]),
    receive after 100 -> ok end,
    halt(0).

%% The other node: it says that it is there, and ends with this one.
serve([ClientText]) ->
    Client = list_to_atom(ClientText),
    true = net_kernel:connect_node(Client),
    {waiting, Client} ! {up, node()},
    monitor_node(Client, true),
    receive {nodedown, Client} -> halt(0) end.

start_server() ->
    register(waiting, self()),
    [_, Host] = string:split(atom_to_list(node()), "@"),
    Name = "server_" ++ os:getpid() ++ "@" ++ Host,
    Arguments = ["-noshell", "-name", Name, "-setcookie", atom_to_list(erlang:get_cookie()),
                 "-pa", filename:dirname(code:which(?MODULE)), "-run", "bench_remote", "serve", atom_to_list(node())],
    open_port({spawn_executable, os:find_executable("erl")}, [{args, Arguments}, stream]),
    receive {up, Server} -> Server after 10000 -> halt(1) end.

payload() -> binary:copy(<<"x">>, 64).

run("round_trip_1", Server, N) -> round_trips(Server, 1, N);
run("round_trip_100", Server, N) -> round_trips(Server, 100, N);
run("one_way_1", Server, N) -> one_way(Server, 1, N);
run("one_way_8", Server, N) -> one_way(Server, 8, N);
run("ask_1ms", Server, N) ->
    Main = self(),
    spawn(Server, fun() -> {ok, P} = gen_server:start(?MODULE, [], []), Main ! {echo, P} end),
    Echo = receive {echo, Pid} -> Pid end,
    Began = erlang:monotonic_time(),
    Latencies = asks(Echo, payload(), N, []),
    {bench_main:seconds(Began), Latencies}.

asks(_Echo, _Payload, 0, Latencies) -> Latencies;
asks(Echo, Payload, N, Latencies) ->
    Began = erlang:monotonic_time(),
    Payload = gen_server:call(Echo, Payload, 5000),
    Took = erlang:monotonic_time() - Began,
    receive after 1 -> ok end,
    asks(Echo, Payload, N - 1, [Took | Latencies]).

round_trips(Server, Pairs, N) ->
    Main = self(),
    Players = [spawn(fun() ->
                         Echo = spawn(Server, ?MODULE, echo, []),
                         Echo ! {self(), payload()},
                         receive {Echo, _} -> Main ! ready end,
                         receive go -> player(Echo, payload(), N div Pairs) end,
                         Main ! done
                     end) || _ <- lists:seq(1, Pairs)],
    [receive ready -> ok end || _ <- Players],
    Began = erlang:monotonic_time(),
    [Player ! go || Player <- Players],
    [receive done -> ok end || _ <- Players],
    {bench_main:seconds(Began), []}.

player(_Echo, _Payload, 0) -> ok;
player(Echo, Payload, N) ->
    Echo ! {self(), Payload},
    receive {Echo, Payload} -> player(Echo, Payload, N - 1) end.

echo() ->
    receive {From, Payload} -> From ! {self(), Payload} end,
    echo().

one_way(Server, Senders, N) ->
    Counter = spawn(Server, ?MODULE, counter, [self(), 0, N]),
    Began = erlang:monotonic_time(),
    [spawn(fun() -> send(Counter, payload(), N div Senders) end) || _ <- lists:seq(1, Senders)],
    receive counted -> ok end,
    {bench_main:seconds(Began), []}.

send(_Counter, _Payload, 0) -> ok;
send(Counter, Payload, N) ->
    Counter ! {item, Payload},
    send(Counter, Payload, N - 1).

counter(Main, N, N) -> Main ! counted;
counter(Main, Seen, N) -> receive {item, _} -> counter(Main, Seen + 1, N) end.

init([]) -> {ok, 0}.

handle_call(Payload, _From, Calls) -> {reply, Payload, Calls + 1}.

handle_cast(_, Calls) -> {noreply, Calls}.
