// What workers and parameter servers that are processes send each other: labels of
// messages, and the state of an optimizer as one message.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/distributed/collectives/process_group.h"
#include "engine/plan/key_ranges.h"
#include "engine/sharing/servers.h"

namespace lockstep::sharing {

/// Returns the label of the message with this number; `why` and `tensor` are as in
/// CollectiveLabel.
distributed::CollectiveLabel message(const char* why, const char* tensor,
                                     int64_t number);

/// Throws std::runtime_error if there are more servers than keys.
void require_enough_keys(int64_t keys, size_t servers);

/// Returns whether this part of an optimizer's state is a count of its updates, which
/// is not divided among servers.
bool is_count_of_updates(const std::string& name);

/// Copies a server's part of an optimizer's state, on any device, to its place in
/// `whole`: host tensors by name, which are created if they are absent. `pieces` are
/// the server's, of `parameters`.
void add_state(std::map<std::string, Tensor>& whole, const Parameters& parameters,
               const std::vector<plan::Piece>& pieces, const std::string& name,
               const Tensor& value);

/// Returns the elements of a tensor on any device, flat and in host memory.
Tensor flat_on_host(const Tensor& x);

/// The names, lengths and counts of a server's state; its tensors follow as one
/// message.
class StateHeader {
 public:
  explicit StateHeader(const Parameters& state);
  explicit StateHeader(const std::string& text);

  std::string text() const;
  int64_t numel() const;

  /// Returns the tensors of `state` joined, in host memory. REQUIRES: numel() > 0.
  static Tensor join(const Parameters& state);
  /// The inverse: adds the parts of `flat` to `whole`, as add_state does.
  void unpack(const Tensor& flat, const Parameters& parameters,
              const plan::KeyRange& range, std::map<std::string, Tensor>& whole) const;

 private:
  struct Part {
    std::string name;
    int64_t numel = 0, count = 0;  ///< one of them
  };
  std::vector<Part> parts_;
};

}  // namespace lockstep::sharing
