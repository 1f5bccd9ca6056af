// kIsSanitized: true if this code is instrumented by AddressSanitizer or
// ThreadSanitizer, so that it takes several times as long. Tests may then do
// less, or wait longer.
#ifndef UNDERSTUDY_ACTORS_TESTING_SANITIZED_H_
#define UNDERSTUDY_ACTORS_TESTING_SANITIZED_H_

namespace understudy {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kIsSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kIsSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool kIsSanitized = false;
#endif

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_TESTING_SANITIZED_H_
