// BuildInfo: how this program was built, for scripts that refuse other builds.
#ifndef UNDERSTUDY_TESTS_BENCH_BUILD_INFO_H_
#define UNDERSTUDY_TESTS_BENCH_BUILD_INFO_H_

namespace understudy::bench {

#if defined(__OPTIMIZE__) && defined(NDEBUG)
inline constexpr char kBuildInfo[] = "optimised=yes compiler=" __VERSION__;
#else
inline constexpr char kBuildInfo[] = "optimised=no compiler=" __VERSION__;
#endif

}  // namespace understudy::bench

#endif  // UNDERSTUDY_TESTS_BENCH_BUILD_INFO_H_
