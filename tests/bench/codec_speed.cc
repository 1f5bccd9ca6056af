// Measures how long the codec and protobuf take to write and read a message of 64 bytes, and how long the permutation
// of an address takes.
//
//   ./bazelw run --config=opt //tests/bench:codec_speed
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>

#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/address_key.h"
#include "understudy/actors/node_table.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/transport/codec/frame_codec.h"

namespace understudy {
namespace {

constexpr NodePair kWriter{.local_node = 60001, .local = {11}, .peer_node = 60002, .peer = {22}};
constexpr NodePair kReader{.local_node = 60002, .local = {22}, .peer_node = 60001, .peer = {11}};
constexpr Pid kFrom(60001, 0x123456, 0x123456789abc);
constexpr Pid kTo(60002, 0x654321, 0xcba987654321);
constexpr uint32_t kMailbox = 0xabcdef01;
constexpr int kPerFrame = 500;
constexpr int kFrames = 400;

// The CPU time of this thread, which programs that run beside this one do not change.
double CpuNanos() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

// Prints the nanoseconds for one of `count` operations: the least of seven rounds.
template <class F>
void Measure(absl::string_view what, int count, F run) {
  double least = 1e9;
  for (int round = 0; round < 7; ++round) {
    const double begin = CpuNanos();
    run();
    least = std::min(least, (CpuNanos() - begin) / count);
  }
  std::cout << absl::StrFormat("%-52s %7.1f ns\n", what, least);
}

std::string EncodeByProtobuf(absl::string_view payload) {
  proto::Envelope envelope;
  proto::Message& message = *envelope.mutable_message();
  *message.mutable_from() = ToAddress(kWriter.local, kFrom);
  *message.mutable_to() = ToAddress(kWriter.peer, kTo);
  message.set_mailbox(kMailbox);
  message.set_payload(std::string(payload));
  return envelope.SerializeAsString();
}

void Run() {
  const std::string payload(64, 'p');
  size_t total = 0;
  Measure("encode an envelope", kPerFrame * kFrames, [&] {
    for (int i = 0; i < kPerFrame * kFrames; ++i)
      total += EncodeMessage(kWriter, kFrom, kTo, kMailbox, 0, payload)->size();
  });
  Measure("encode an envelope, protobuf", kPerFrame * kFrames, [&] {
    for (int i = 0; i < kPerFrame * kFrames; ++i) total += EncodeByProtobuf(payload).size();
  });
  const std::string envelope = *EncodeMessage(kWriter, kFrom, kTo, kMailbox, 0, payload);
  Measure("decode an envelope", kPerFrame * kFrames, [&] {
    for (int i = 0; i < kPerFrame * kFrames; ++i) total += DecodeEnvelope(kReader, envelope)->index();
  });
  Measure("decode an envelope, protobuf", kPerFrame * kFrames, [&] {
    for (int i = 0; i < kPerFrame * kFrames; ++i) {
      total += internal::DecodeEnvelopeByProtobuf(kReader, envelope)->index();
    }
  });
  std::string frame;
  Measure("pack a slot into a frame", kPerFrame * kFrames, [&] {
    for (int i = 0; i < kFrames; ++i) {
      FramePacker packer(1, 1);
      for (uint64_t slot = 0; slot < kPerFrame; ++slot)
        total += packer.Add(1 + slot, {.body = envelope}, nullptr) ? 1 : 0;
      frame = packer.Encode();
    }
  });
  Measure("pack a slot into a frame, protobuf", kPerFrame * kFrames, [&] {
    for (int i = 0; i < kFrames; ++i) {
      proto::Frame packed;
      packed.set_epoch(1);
      for (int slot = 0; slot < kPerFrame; ++slot) packed.add_slots()->set_body(envelope);
      total += packed.SerializeAsString().size();
    }
  });
  Measure("read a slot of a frame", kPerFrame * kFrames, [&] {
    for (int i = 0; i < kFrames; ++i) total += DecodeSessionFrame(frame)->slots.size();
  });
  Measure("read a slot of a frame, protobuf", kPerFrame * kFrames, [&] {
    for (int i = 0; i < kFrames; ++i) total += internal::DecodeFrameByProtobuf(frame)->slots.size();
  });
  const AddressKey key(1, 2);
  ActorAddress address{.cell = 1, .serial = 1};
  Measure("permute an address", kPerFrame * kFrames, [&] {
    for (int i = 0; i < kPerFrame * kFrames; ++i) address = key.Permuted(address);
  });
  Measure("restore an address", kPerFrame * kFrames, [&] {
    for (int i = 0; i < kPerFrame * kFrames; ++i) address = key.Restored(address);
  });
  const NodePlace node = *internal::NodeTable::Intern(
      {.system = &key, .name = "speed", .incarnation = {11}, .is_local = true, .key = key});
  Measure("the address of a pid, and back", kPerFrame * kFrames, [&] {
    for (uint64_t i = 0; i < kPerFrame * kFrames; ++i) {
      const Pid pid(node, static_cast<uint32_t>(i % 16), 1 + i % 16);
      total += internal::PidAt(node, internal::AddressOf(pid)).serial();
    }
  });
  std::cout << (total + address.serial == 0 ? "" : "\n");
}

}  // namespace
}  // namespace understudy

int main() {
  understudy::Run();
  return 0;
}
