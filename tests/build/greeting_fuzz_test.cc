// A request parsed from any bytes can be written and read back unchanged.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "understudy/tests/build/greeting.pb.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  understudy::tests::build::GreetRequest request;
  if (!request.ParseFromArray(bytes, static_cast<int>(size))) return 0;
  understudy::tests::build::GreetRequest again;
  if (!again.ParseFromString(request.SerializeAsString()) || again.name() != request.name()) std::abort();
  return 0;
}
