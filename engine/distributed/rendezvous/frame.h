// Frames: how requests and answers look as bytes, on a connection and in a file; and
// the words in which the stores' messages show keys, values and times.
//
//   "LKS1" | operation | length of the body |  body: ( length | bytes ) for each field
//    4 bytes  4 bytes        4 bytes                  4 bytes
//
// Numbers of the header and lengths are little-endian; numbers in fields are decimal
// text. Nothing that arrives is trusted: anyone who finds the port can send bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"

namespace lockstep::distributed::store {

/// The longest body in bytes. No memory is allocated for a longer one.
inline constexpr size_t kMaxBody = 1 << 20;
inline constexpr size_t kHeaderBytes = 12;

/// Requests with their fields → the answer, then the three answers.
enum class Op : uint32_t {
  ping,         ///< → done
  set,          ///< key, value → done
  get,          ///< milliseconds, key → done: value; or missing: key
  try_get,      ///< key → done: value; or missing: key
  add,          ///< key, amount → done: sum
  wait,         ///< milliseconds, key, … → done; or missing: key, …
  compare_set,  ///< key, expected, desired → done: value
  remove,       ///< key → done: "1" if it was there, else "0"
  join,         ///< rank, world size, who → done
  leave,        ///< (in a file: rank) → done
  done,
  missing,
  refused,  ///< why
};
inline constexpr Op kLastOp = Op::refused;

using Fields = std::vector<std::string>;

struct Frame {
  Op op = Op::ping;
  Fields fields;
};

/// Returns the frame's bytes. Throws std::runtime_error if its body is longer than
/// kMaxBody.
std::string encode(const Frame& frame);

/// What a stream of bytes begins with.
struct Parsed {
  enum class State {
    incomplete,  ///< the beginning of a frame
    whole,       ///< `frame`, which takes up `consumed` bytes
    garbage,     ///< not a frame, whatever follows, for this `reason`
  };
  State state = State::incomplete;
  Frame frame;
  size_t consumed = 0;
  std::string reason;
};

/// Parses the frame at the start of `bytes`. Never throws. A bad header is reported
/// before the body has arrived.
Parsed parse_frame(std::string_view bytes);

/// Returns all of `text` as a decimal number, or nullopt.
std::optional<int64_t> parse_number(std::string_view text);

/// Returns `text` for a message of one line: cut at 80 bytes, control characters
/// replaced by '?'.
std::string shown(std::string_view text);

/// Returns `"a", "b" and 3 more`.
std::string quoted(const std::vector<std::string>& keys);

/// Returns "1.5 s".
std::string seconds(Milliseconds time);

}  // namespace lockstep::distributed::store
