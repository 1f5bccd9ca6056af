#include "understudy/actors/address_key.h"

#include <sys/random.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "understudy/actors/check.h"

namespace understudy {
namespace {

constexpr int kRounds = 6;
constexpr int kHalfBits = 36;
constexpr uint64_t kHalfMask = (uint64_t{1} << kHalfBits) - 1;
constexpr int kSerialBits = 48;

// SipHash's state of four words.
struct SipState {
  uint64_t a, b, c, d;

  void Round() {
    a += b;
    b = std::rotl(b, 13) ^ a;
    a = std::rotl(a, 32);
    c += d;
    d = std::rotl(d, 16) ^ c;
    a += d;
    d = std::rotl(d, 21) ^ a;
    c += b;
    b = std::rotl(b, 17) ^ c;
    c = std::rotl(c, 32);
  }
  void Compress(uint64_t word) {
    d ^= word;
    Round();
    a ^= word;
  }
};

// SipHash-1-3 of the eight bytes of `word`.
uint64_t SipHash(uint64_t low, uint64_t high, uint64_t word) {
  SipState state{.a = low ^ 0x736f6d6570736575U,
                 .b = high ^ 0x646f72616e646f6dU,
                 .c = low ^ 0x6c7967656e657261U,
                 .d = high ^ 0x7465646279746573U};
  state.Compress(word);
  state.Compress(uint64_t{8} << 56);  // the input's length
  state.c ^= 0xff;
  for (int i = 0; i < 3; ++i) state.Round();
  return state.a ^ state.b ^ state.c ^ state.d;
}

struct Halves {
  uint64_t left;
  uint64_t right;

  explicit Halves(ActorAddress address)
      : left(uint64_t{address.cell} << (kSerialBits - kHalfBits) | address.serial >> kHalfBits),
        right(address.serial & kHalfMask) {}
  ActorAddress Joined() const {
    constexpr uint64_t kSerialHighMask = (uint64_t{1} << (kSerialBits - kHalfBits)) - 1;
    return {.cell = static_cast<uint32_t>(left >> (kSerialBits - kHalfBits)),
            .serial = (left & kSerialHighMask) << kHalfBits | right};
  }
};

// The value that is XORed to one half in a round, computed from the other half.
uint64_t RoundOf(uint64_t low, uint64_t high, int round, uint64_t half) {
  return SipHash(low, high, static_cast<uint64_t>(round) << kHalfBits | half) & kHalfMask;
}

}  // namespace

AddressKey AddressKey::Random() {
  std::array<uint64_t, 2> words{};
  size_t filled = 0;
  while (filled < sizeof(words)) {
    const ssize_t got = getrandom(reinterpret_cast<char*>(words.data()) + filled, sizeof(words) - filled, 0);
    UNDERSTUDY_CHECK(got > 0 || errno == EINTR, "getrandom failed with errno ", errno);
    if (got > 0) filled += static_cast<size_t>(got);
  }
  return {words[0], words[1]};
}

ActorAddress AddressKey::Permuted(ActorAddress inside) const {
  if (inside.serial == 0) return inside;
  do {
    Halves halves(inside);
    for (int round = 0; round < kRounds; ++round) {
      const uint64_t left = halves.left;
      halves.left = halves.right;
      halves.right = left ^ RoundOf(low_, high_, round, halves.right);
    }
    inside = halves.Joined();
  } while (inside.serial == 0);
  return inside;
}

ActorAddress AddressKey::Restored(ActorAddress outside) const {
  if (outside.serial == 0) return outside;
  do {
    Halves halves(outside);
    for (int round = kRounds; round-- > 0;) {
      const uint64_t right = halves.right;
      halves.right = halves.left;
      halves.left = right ^ RoundOf(low_, high_, round, halves.left);
    }
    outside = halves.Joined();
  } while (outside.serial == 0);
  return outside;
}

}  // namespace understudy
