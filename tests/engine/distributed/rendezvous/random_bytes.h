// Random bytes as a stranger may send them: noise, and damaged frames.
#pragma once

#include <random>
#include <string>

#include "engine/distributed/rendezvous/frame.h"

namespace lockstep::distributed::store {

inline std::string random_bytes(std::mt19937& random) {
  const auto below = [&](size_t end) { return random() % end; };
  const auto noise = [&](size_t size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(below(256));
    return bytes;
  };
  if (below(4) == 0) return noise(below(100));

  std::string bytes;
  for (size_t frames = 1 + below(3); frames > 0; --frames) {
    Frame frame{static_cast<Op>(below(static_cast<size_t>(kLastOp) + 1)), {}};
    for (size_t fields = below(4); fields > 0; --fields) {
      frame.fields.push_back(below(2) ? std::to_string(below(9)) : noise(below(20)));
    }
    bytes += encode(frame);
  }
  if (below(2)) bytes[below(bytes.size())] = static_cast<char>(below(256));
  if (below(3) == 0) bytes.resize(below(bytes.size()));
  return bytes;
}

}  // namespace lockstep::distributed::store
