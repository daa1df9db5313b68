// Frames: the byte format of requests and answers, on a connection and in a file; also
// helpers that format keys, values and times for the stores' messages.
//
//   "LKS3" | operation | length of the body |  body: ( length | bytes ) for each field
//    4 bytes  4 bytes        4 bytes                  4 bytes
//
// Integers in the header and lengths are little-endian; numbers in fields are decimal
// text. No input is trusted: anyone who finds the port can send bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"

namespace lockstep::distributed::store {

/// The maximum body size in bytes. No memory is allocated for larger bodies.
inline constexpr size_t kMaxBody = 1 << 20;
inline constexpr size_t kHeaderBytes = 12;

/// Requests with their fields → the possible answers; then the three kinds of answer.
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
  clock,        ///< → done: nanoseconds of the server's monotonic clock
  beat,         ///< rank, world size, seq, at → done: a health (heartbeats.h)
  hello,        ///< nonce → done: another (credentials.h)
  prove,        ///< run id, "1" with a secret else "0", proof → done: proof
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

/// Returns the frame as bytes. Throws std::runtime_error if the body exceeds kMaxBody
/// bytes.
std::string encode(const Frame& frame);

/// The result of parsing the start of a byte stream.
struct Parsed {
  enum class State {
    incomplete,  ///< only part of a frame
    whole,       ///< `frame` is complete and takes up `consumed` bytes
    garbage,     ///< not a frame, regardless of what follows; see `reason`
  };
  State state = State::incomplete;
  Frame frame;
  size_t consumed = 0;
  std::string reason;
};

/// Parses the frame at the start of `bytes`. Never throws. A bad header is reported
/// even if the body has not arrived yet.
Parsed parse_frame(std::string_view bytes);

/// Parses the whole of `text` as a decimal number; returns nullopt if it is not one.
std::optional<int64_t> parse_number(std::string_view text);

/// Returns `text` formatted for a one-line message: truncated to 80 bytes, with control
/// characters replaced by '?'.
std::string shown(std::string_view text);

/// Returns a list such as `"a", "b" and 3 more`.
std::string quoted(const std::vector<std::string>& keys);

/// Returns a string such as "1.5 s".
std::string seconds(Milliseconds time);

}  // namespace lockstep::distributed::store
