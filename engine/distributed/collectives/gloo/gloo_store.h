// Our store in the clothes of Gloo's.
#pragma once

#include <gloo/rendezvous/store.h>

#include <memory>

#include "engine/distributed/rendezvous/store.h"

namespace lockstep::distributed {

/// Gloo's ranks find each other here, under the keys `rank_2` and `2`.
class GlooStore : public gloo::rendezvous::Store {
 public:
  /// Every wait takes `timeout` at most, whatever Gloo says; then std::runtime_error
  /// names the rank that did not come.
  GlooStore(std::shared_ptr<distributed::Store> store, Milliseconds timeout)
      : store_(std::move(store)), timeout_(timeout) {}

  void set(const std::string& key, const std::vector<char>& data) override;
  std::vector<char> get(const std::string& key) override;
  void wait(const std::vector<std::string>& keys) override;
  void wait(const std::vector<std::string>& keys, const Milliseconds&) override {
    wait(keys);
  }

 private:
  std::shared_ptr<distributed::Store> store_;
  const Milliseconds timeout_;
};

}  // namespace lockstep::distributed
