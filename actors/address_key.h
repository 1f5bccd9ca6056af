// AddressKey: what keeps the addresses of a node's actors from being guessed.
//
// Inside its node an actor is a cell (24 bits) and a serial (48 bits) that count
// up. What leaves the node is that pair permuted under a 128-bit key of the
// incarnation, so an address that a peer was never given is found with a
// probability of about the number of living actors in 2^72, and no address tells
// anything about another. Every permuted pair stands for exactly one pair, so an
// address needs no table: it is translated back, and the serial says whether
// that life is there.
//
// The permutation is a Feistel network (Luby and Rackoff 1988) of 72 bits in two
// halves of 36. The round function is SipHash-1-3 (Aumasson and Bernstein 2012)
// of the half and the round's number, a keyed pseudo-random function made for
// short inputs. Six rounds, because that many resist chosen addresses in both
// directions until some 2^36 of them are known (Patarin 2004). Pairs with serial
// 0 are not actors: where the network gives one it is applied again (cycle
// walking; Black and Rogaway 2002), so actors are permuted among themselves.
//
// Values; any thread.
#ifndef UNDERSTUDY_ACTORS_ADDRESS_KEY_H_
#define UNDERSTUDY_ACTORS_ADDRESS_KEY_H_

#include <cstdint>

namespace understudy {

// One actor of a node: inside it, or as others know it.
struct ActorAddress {
  uint32_t cell = 0;    // below kCellEnd
  uint64_t serial = 0;  // below kSerialEnd; 0 is a plain thread

  static constexpr uint32_t kCellEnd = uint32_t{1} << 24;
  static constexpr uint64_t kSerialEnd = uint64_t{1} << 48;

  friend constexpr bool operator==(const ActorAddress&, const ActorAddress&) = default;
};

class AddressKey {
 public:
  // For tests: a key that everybody knows.
  constexpr AddressKey() = default;
  constexpr AddressKey(uint64_t low, uint64_t high) : low_(low), high_(high) {}
  // From the operating system's generator. CHECK when that fails.
  static AddressKey Random();

  // The address that others know, of one inside the node, and back. A plain
  // thread's is unchanged.
  ActorAddress Permuted(ActorAddress inside) const;
  ActorAddress Restored(ActorAddress outside) const;

  friend constexpr bool operator==(const AddressKey&, const AddressKey&) = default;

 private:
  uint64_t low_ = 0;
  uint64_t high_ = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_ADDRESS_KEY_H_
