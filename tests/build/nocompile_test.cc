#include "absl/strings/str_cat.h"

std::string Join(int a, int b) { return absl::StrCat(a, b); }

#ifdef NOCOMPILE_WRONG_TYPE
struct Opaque {};
std::string Bad() { return Join(Opaque(), 1); }
#endif

#ifdef NOCOMPILE_STATIC_ASSERT
static_assert(sizeof(int) == 1, "an int holds more than a byte");
#endif
