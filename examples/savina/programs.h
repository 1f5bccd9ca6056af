// The programs of the table in savina.cc. The file of each program says what the program does and what its oracle is.
#ifndef UNDERSTUDY_EXAMPLES_SAVINA_PROGRAMS_H_
#define UNDERSTUDY_EXAMPLES_SAVINA_PROGRAMS_H_

#include <cstdint>
#include <memory>

#include "understudy/examples/savina/savina.h"  // IWYU pragma: export

namespace understudy::savina {

std::unique_ptr<Actor> MakePingPong(int64_t rounds);
std::unique_ptr<Actor> MakeCounting(int64_t messages);
std::unique_ptr<Actor> MakeForkJoinCreate(int64_t actors);
std::unique_ptr<Actor> MakeForkJoinThroughput(int64_t messages);
std::unique_ptr<Actor> MakeThreadRing(int64_t hops);
std::unique_ptr<Actor> MakeChameneos(int64_t meetings);
std::unique_ptr<Actor> MakeBig(int64_t pings);

std::unique_ptr<Actor> MakeConcurrentDictionary(int64_t requests);
std::unique_ptr<Actor> MakeConcurrentSortedList(int64_t requests);
std::unique_ptr<Actor> MakeProducerConsumer(int64_t items);
std::unique_ptr<Actor> MakeDiningPhilosophers(int64_t meals);
std::unique_ptr<Actor> MakeSleepingBarber(int64_t customers);
std::unique_ptr<Actor> MakeCigaretteSmokers(int64_t rounds);
std::unique_ptr<Actor> MakeLogisticMap(int64_t terms);
std::unique_ptr<Actor> MakeBankTransaction(int64_t transfers);

std::unique_ptr<Actor> MakeRadixSort(int64_t numbers);
std::unique_ptr<Actor> MakeFilterBank(int64_t columns);
std::unique_ptr<Actor> MakeSieve(int64_t below);
std::unique_ptr<Actor> MakeUnbalancedTree(int64_t nodes);
std::unique_ptr<Actor> MakeFacilityLocation(int64_t customers);
std::unique_ptr<Actor> MakeTrapezoid(int64_t pieces);
std::unique_ptr<Actor> MakePiPrecision(int64_t digits);
std::unique_ptr<Actor> MakeMatrixMultiplication(int64_t rows);
std::unique_ptr<Actor> MakeQuicksort(int64_t numbers);
std::unique_ptr<Actor> MakeShortestPaths(int64_t nodes);
std::unique_ptr<Actor> MakeOverRelaxation(int64_t width);
std::unique_ptr<Actor> MakeGuidedSearch(int64_t width);
std::unique_ptr<Actor> MakeNQueens(int64_t queens);
std::unique_ptr<Actor> MakeFibonacci(int64_t n);
std::unique_ptr<Actor> MakeBitonicSort(int64_t numbers);

}  // namespace understudy::savina

#endif  // UNDERSTUDY_EXAMPLES_SAVINA_PROGRAMS_H_
