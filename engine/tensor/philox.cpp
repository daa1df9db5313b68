#include "engine/tensor/philox.h"

#include <cmath>
#include <numbers>

namespace lockstep {

std::array<uint32_t, 4> Philox::block(uint64_t counter, uint64_t stream) const {
  auto low = [](uint64_t x) { return static_cast<uint32_t>(x); };
  auto high = [](uint64_t x) { return static_cast<uint32_t>(x >> 32); };

  std::array c{low(counter), high(counter), low(stream), high(stream)};
  uint32_t k0 = low(key), k1 = high(key);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * c[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57} * c[2];
    c = {high(p1) ^ c[1] ^ k0, low(p1), high(p0) ^ c[3] ^ k1, low(p0)};
    k0 += 0x9E3779B9;  // the golden ratio
    k1 += 0xBB67AE85;  // sqrt(3) - 1
  }
  return c;
}

double Philox::uniform(uint64_t i, uint64_t stream) const {
  return (block(i / 4, stream)[i % 4] + 0.5) * 0x1p-32;
}

double Philox::normal(uint64_t i, uint64_t stream) const {
  const uint64_t pair = i / 2 * 2;
  const double radius = std::sqrt(-2 * std::log(uniform(pair, stream)));
  const double angle = 2 * std::numbers::pi * uniform(pair + 1, stream);
  return radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle));
}

}  // namespace lockstep
