#include "engine/distributed/transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace lockstep::distributed {
namespace {

template <typename T>
void combine(T* into, const T* from, int64_t numel, ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      for (int64_t i = 0; i < numel; ++i) into[i] += from[i];
      break;
    case ReduceOp::min:
      for (int64_t i = 0; i < numel; ++i) into[i] = std::min(into[i], from[i]);
      break;
    case ReduceOp::max:
      for (int64_t i = 0; i < numel; ++i) into[i] = std::max(into[i], from[i]);
      break;
  }
}

}  // namespace

void apply(const Incoming& in, Buffer into, const void* from) {
  if (into.data == nullptr || from == nullptr || into.numel == 0) return;
  if (!in.combine) {
    std::memcpy(into.data, from, into.bytes());
    return;
  }
  switch (into.dtype) {
    case DType::f32:
      return combine(static_cast<float*>(into.data), static_cast<const float*>(from),
                     into.numel, in.op);
    case DType::f64:
      return combine(static_cast<double*>(into.data), static_cast<const double*>(from),
                     into.numel, in.op);
    case DType::i64:
      return combine(static_cast<int64_t*>(into.data),
                     static_cast<const int64_t*>(from), into.numel, in.op);
    case DType::u8:
      return combine(static_cast<uint8_t*>(into.data),
                     static_cast<const uint8_t*>(from), into.numel, in.op);
  }
}

std::string str(const Collective& call) {
  return fmt::format("{} #{} ({}{}{} B)", call.name, call.seq, call.tensor,
                     *call.tensor ? ", " : "", call.bytes);
}

std::string disagreement(int mine, int other, const Collective& call,
                         const MessageTag& expected, const MessageTag& got) {
  std::string theirs = fmt::format("message {} of {} B of its collective #{}",
                                   got.message, got.bytes, got.seq);
  if (got.collective != expected.collective) theirs += ", another collective than ours";
  return fmt::format(
      "rank {} disagrees with rank {}: it is at {}, where {} wants message {} of {} B. "
      "All ranks must make the same calls with the same shapes",
      other, mine, theirs, str(call), expected.message, expected.bytes);
}

}  // namespace lockstep::distributed
