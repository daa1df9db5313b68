// A hash that is stable across machines and runs; not suitable for untrusted keys.
#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep {

/// Returns the 64-bit FNV-1a hash of `bytes`. Source: Fowler, Noll, Vo, "FNV
/// Non-Cryptographic Hash Algorithm".
constexpr uint64_t fnv1a64(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= 0x100000001b3;
  }
  return hash;
}

}  // namespace lockstep
