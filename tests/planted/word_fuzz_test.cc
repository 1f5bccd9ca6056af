#include <cstddef>
#include <cstdint>
#include <cstdlib>

// Random bytes reach the word once in 2^32 inputs. A fuzzer that sees the branches goes letter by letter.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size > 0 && bytes[0] == 'l') {
    if (size > 1 && bytes[1] == 'o') {
      if (size > 2 && bytes[2] == 's') {
        if (size > 3 && bytes[3] == 't') std::abort();
      }
    }
  }
  return 0;
}
