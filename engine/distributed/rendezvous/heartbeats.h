// The ranks' heartbeats, kept where the store is: a rank that tells its own learns in
// the same request what concerns it about all others, whatever their number.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"

namespace lockstep::distributed {

/// What a rank tells: that it lives, and how far it has come.
struct Beat {
  int rank = 0, world = 1;
  int64_t seq = -1;                  ///< number of its latest collective; −1 if none
  std::string at = "no collective";  ///< description of it
};

/// What the store knows about the ranks of a job.
struct Health {
  struct Rank {
    int rank = -1;  ///< −1: there is none
    int64_t seq = -1;
    std::string at = "no collective";
    bool operator==(const Rank&) const = default;
  };
  Rank gone;            ///< the lowest that died without reporting an error
  Rank failed;          ///< the lowest that reported a failure …
  std::string failure;  ///< … and its message
  Rank silent;          ///< the one (but for the asker) whose last beat is the oldest …
  Milliseconds silence{0};  ///< … this long ago, or since the first beat of any rank …
  bool has_beaten = false;  ///< … and whether it ever has
  Rank last, first;         ///< those with the lowest and the highest `seq`
};

namespace store {

/// Not thread-safe.
class Heartbeats {
 public:
  /// Ignores ranks out of range.
  void note(const Beat& beat, TimePoint now);

  /// `gone` and `failed`: by rank; the latter's messages.
  Health health(int asker, TimePoint now, const std::map<int, std::string>& gone,
                const std::map<int, std::string>& failed) const;

 private:
  struct Heard {
    Health::Rank place;
    std::optional<TimePoint> when;
  };
  std::vector<Heard> heard_;  ///< by rank; as many as the world
  TimePoint began_{};         ///< when the first beat was noted
};

/// A health as the fields of an answer, and back. Throws std::runtime_error if they are
/// not one.
std::vector<std::string> fields_of(const Health& health);
Health health_of(const std::vector<std::string>& fields);

/// A beat as the fields of a request, and back; nullopt if they are not one.
std::vector<std::string> fields_of(const Beat& beat);
std::optional<Beat> beat_of(const std::vector<std::string>& fields);

}  // namespace store

}  // namespace lockstep::distributed
