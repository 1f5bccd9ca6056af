// AddressKey: a key that permutes the addresses of a node's actors, so that other nodes
// cannot guess them.
//
// Inside its node an actor is identified by a cell (24 bits) and a serial (48 bits), which
// count up. Other nodes get that pair permuted under a 128-bit key of the incarnation. So a
// guess finds one of n living actors with probability n / 2^72, and an address tells nothing
// about other addresses. The permutation is a bijection, so no table is needed: the node
// translates an address back, and the serial says whether that actor is still alive.
//
// The permutation is a Feistel network (Luby and Rackoff 1988) of 72 bits in two
// halves of 36. The round function is SipHash-1-3 (Aumasson and Bernstein 2012)
// of the half and the round's number, a keyed pseudo-random function made for
// short inputs. Six rounds, because that many resist chosen addresses in both
// directions until some 2^36 of them are known (Patarin 2004). Pairs with serial
// 0 are not actors: where the network gives one it is applied again (cycle
// walking; Black and Rogaway 2002), so actors are permuted among themselves.
//
// Threads: plain values.
#ifndef UNDERSTUDY_ACTORS_ADDRESS_KEY_H_
#define UNDERSTUDY_ACTORS_ADDRESS_KEY_H_

#include <cstdint>

namespace understudy {

// The address of one actor of a node: as the node itself uses it or, permuted, as other nodes know it.
struct ActorAddress {
  uint32_t cell = 0;    // below kCellEnd
  uint64_t serial = 0;  // below kSerialEnd; 0 is a plain thread

  static constexpr uint32_t kCellEnd = uint32_t{1} << 24;
  static constexpr uint64_t kSerialEnd = uint64_t{1} << 48;

  friend constexpr bool operator==(const ActorAddress&, const ActorAddress&) = default;
};

class AddressKey {
 public:
  // The key 0, for tests.
  constexpr AddressKey() = default;
  constexpr AddressKey(uint64_t low, uint64_t high) : low_(low), high_(high) {}
  // Returns a key from the operating system's random generator. CHECKs that it succeeds.
  static AddressKey Random();

  // Permuted returns the address by which other nodes know an actor; Restored is its inverse.
  // Both leave the address of a plain thread (serial 0) unchanged.
  ActorAddress Permuted(ActorAddress inside) const;
  ActorAddress Restored(ActorAddress outside) const;

  friend constexpr bool operator==(const AddressKey&, const AddressKey&) = default;

 private:
  uint64_t low_ = 0;
  uint64_t high_ = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_ADDRESS_KEY_H_
