%% A million processes that were told something and then wait (not hibernated); what they add to the resident memory.
-module(bench_idle_memory).
-export([run/1]).

-define(BATCH, 1000).

run(N) ->
    ?BATCH = spawn_told(?BATCH, 0),
    Before = resident_bytes(),
    Began = erlang:monotonic_time(),
    Count = spawn_told(N, 0),
    Seconds = bench_main:seconds(Began),
    {Count, Seconds, resident_bytes() - Before}.

spawn_told(0, Sum) -> Sum;
spawn_told(Left, Sum) ->
    Batch = min(Left, ?BATCH),
    spawn_batch(self(), Batch),
    spawn_told(Left - Batch, await_told(Batch, Sum)).

spawn_batch(_Landlord, 0) -> ok;
spawn_batch(Landlord, Left) ->
    spawn(fun() -> living(Landlord) end) ! {hello, 1},
    spawn_batch(Landlord, Left - 1).

await_told(0, Sum) -> Sum;
await_told(Left, Sum) ->
    receive {told, Amount} -> await_told(Left - 1, Sum + Amount) end.

living(Landlord) ->
    receive
        {hello, Amount} ->
            Landlord ! {told, Amount},
            living(Landlord);
        {other, _} ->
            living(Landlord)
    end.

resident_bytes() ->
    {ok, Text} = file:read_file("/proc/self/statm"),
    [_, Pages | _] = string:lexemes(binary_to_list(Text), " \n"),
    list_to_integer(Pages) * 4096.
