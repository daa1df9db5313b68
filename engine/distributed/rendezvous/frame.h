// Frames: how requests and answers look as bytes, on a connection and in a file.
//
//   "LKS1" | operation | length of the body |  body: ( length | bytes ) for each field
//    4 bytes  4 bytes        4 bytes                  4 bytes
//
// Numbers of the header and lengths are little-endian; what fields hold as numbers is
// decimal text. Bytes may come from anybody: nothing is believed before it is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::distributed::store {

/// The longest body in bytes. No memory is taken for a longer one.
inline constexpr size_t kMaxBody = 1 << 20;
inline constexpr size_t kHeaderBytes = 12;

/// Requests with their fields, then the answers.
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

/// Throws std::runtime_error if the body were longer than kMaxBody.
std::string encode(const Frame& frame);

/// What the first bytes of a stream hold.
struct Parsed {
  enum class State {
    incomplete,  ///< so far a frame, but not all of it
    whole,       ///< `frame`, which takes up `consumed` bytes
    garbage,     ///< no frame, for this `reason`, whatever may follow
  };
  State state = State::incomplete;
  Frame frame;
  size_t consumed = 0;
  std::string reason;
};

/// A pure function of its bytes; never throws. Garbage is told as soon as it shows.
Parsed parse_frame(std::string_view bytes);

}  // namespace lockstep::distributed::store
