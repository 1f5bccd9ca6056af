// Letter: a message with a wire form that does not need protobuf, for tests.
#ifndef UNDERSTUDY_TESTS_ACTORS_LETTER_H_
#define UNDERSTUDY_TESTS_ACTORS_LETTER_H_

#include <string>

namespace understudy {

// Letter: a class that looks to this library like one that protobuf generated.
class Letter {
 public:
  struct Descriptor {
    std::string full_name() const { return "post.Letter"; }
  };
  static const Descriptor* descriptor() {
    static const Descriptor descriptor;
    return &descriptor;
  }
  bool SerializeToString(std::string* out) const {
    *out = "L" + text;
    return true;
  }
  bool ParseFromArray(const void* data, int size) {
    const auto* bytes = static_cast<const char*>(data);
    if (size < 1 || bytes[0] != 'L') return false;
    text.assign(bytes + 1, static_cast<size_t>(size) - 1);
    return true;
  }
  size_t ByteSizeLong() const { return text.size() + 1; }

  std::string text;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_ACTORS_LETTER_H_
