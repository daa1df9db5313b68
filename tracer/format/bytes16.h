// Tests sixteen bytes of text at once, for example for quotes, brackets or blanks.
#pragma once

#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace lockstep::tracer {

/// Results have one bit per byte; the lowest bit is for the first byte.
class Bytes16 {
 public:
#ifdef __SSE2__
  explicit Bytes16(const char* at)
      : bytes_(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at))) {}

  uint32_t equal(char c) const {
    return static_cast<uint32_t>(
        _mm_movemask_epi8(_mm_cmpeq_epi8(bytes_, _mm_set1_epi8(c))));
  }
  /// Compares the bytes as unsigned numbers.
  uint32_t at_most(char c) const {
    const __m128i lower = _mm_min_epu8(bytes_, _mm_set1_epi8(c));
    return static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes_, lower)));
  }
  uint32_t beyond_ascii() const {
    return static_cast<uint32_t>(_mm_movemask_epi8(bytes_));
  }

 private:
  __m128i bytes_;
#else
  explicit Bytes16(const char* at) { std::memcpy(bytes_, at, sizeof bytes_); }

  uint32_t equal(char c) const {
    return ask([c](char byte) { return byte == c; });
  }
  uint32_t at_most(char c) const {
    return ask([c](char byte) {
      return static_cast<unsigned char>(byte) <= static_cast<unsigned char>(c);
    });
  }
  uint32_t beyond_ascii() const {
    return ask([](char byte) { return static_cast<unsigned char>(byte) >= 0x80; });
  }

 private:
  template <typename Question>
  uint32_t ask(Question question) const {
    uint32_t answer = 0;
    for (int i = 0; i < 16; ++i) answer |= uint32_t{question(bytes_[i])} << i;
    return answer;
  }
  char bytes_[16];
#endif
};

}  // namespace lockstep::tracer
