// Adapts our store to Gloo's interface.
#pragma once

#include <gloo/rendezvous/store.h>

#include <memory>

#include "engine/distributed/rendezvous/store.h"

namespace lockstep::distributed {

/// Used by Gloo's ranks to find each other, with keys such as `rank_2` and `2`.
class GlooStore : public gloo::rendezvous::Store {
 public:
  /// Every wait ends after `timeout`, regardless of the timeout Gloo requests. Throws
  /// std::runtime_error naming the missing rank in that case.
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
