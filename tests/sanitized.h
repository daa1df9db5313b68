// Whether this build has a sanitizer, in which tests that repeat the same code for many
// inputs take fewer of them.
#pragma once

namespace lockstep {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// Whether it is TSan, which cannot observe the threads of OpenMP, which oneDNN uses.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitized = true;
#else
inline constexpr bool kThreadSanitized = false;
#endif

}  // namespace lockstep
