%% A client calls a gen_server with a timeout of 5 s, and calls again.
-module(bench_ask).
-behaviour(gen_server).
-export([run/1, init/1, handle_call/3, handle_cast/2]).

run(N) ->
    Main = self(),
    {ok, Server} = gen_server:start(?MODULE, [], []),
    Client = spawn(fun() -> receive {start, Asks} -> Main ! {finish, client(Server, 0, Asks)} end end),
    Began = erlang:monotonic_time(),
    Client ! {start, N},
    Count = bench_main:await(finish),
    Seconds = bench_main:seconds(Began),
    N = gen_server:call(Server, count),
    bench_main:end_all([Server, Client]),
    {Count, Seconds, 0}.

client(_Server, Number, Asks) when Number =:= Asks -> Number;
client(Server, Number, Asks) ->
    Next = Number + 1,
    Next = gen_server:call(Server, {next_of, Number}, 5000),
    client(Server, Next, Asks).

init([]) -> {ok, 0}.

handle_call({next_of, Number}, _From, Calls) -> {reply, Number + 1, Calls + 1};
handle_call(count, _From, Calls) -> {reply, Calls, Calls}.

handle_cast(_, Calls) -> {noreply, Calls}.
