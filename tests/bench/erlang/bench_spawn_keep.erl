%% One process spawns many, which tell it that they have started, and stay. Ending them is not measured.
-module(bench_spawn_keep).
-export([run/1]).

run(N) ->
    Main = self(),
    Landlord = spawn(fun() -> landlord(Main) end),
    Began = erlang:monotonic_time(),
    Landlord ! {start, N},
    Count = bench_main:await(finish),
    Seconds = bench_main:seconds(Began),
    Landlord ! give_notice,
    bench_main:await(gone),
    {Count, Seconds, 0}.

landlord(Main) ->
    Landlord = self(),
    receive
        {start, N} ->
            Tenants = let_to(N, Landlord, []),
            Main ! {finish, count(N, 0)}
    end,
    receive give_notice -> [Tenant ! {leave, 0} || Tenant <- Tenants] end,
    Main ! {gone, count(N, 0)}.

let_to(0, _, Tenants) -> Tenants;
let_to(Left, Landlord, Tenants) ->
    let_to(Left - 1, Landlord, [spawn(fun() -> tenant(Landlord) end) | Tenants]).

tenant(Landlord) ->
    Landlord ! {started, 1},
    receive {leave, _} -> Landlord ! {started, 1} end.

count(0, Sum) -> Sum;
count(Left, Sum) ->
    receive {started, Amount} -> count(Left - 1, Sum + Amount) end.
