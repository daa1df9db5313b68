// A world that only notes what this rank, the first one, all-reduces.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/distributed/collectives/communicator.h"

namespace lockstep::lessons {

class Noted : public distributed::Communicator {
 public:
  explicit Noted(int size = 1) : size_(size) {}
  std::vector<std::pair<int64_t, int64_t>> buckets;  ///< (number, bytes), in order
  const char* algorithm() const override { return "noted"; }
  int rank() const override { return 0; }
  int size() const override { return size_; }
  void all_reduce(distributed::Buffer, distributed::ReduceOp,
                  const distributed::Collective& call) override {
    buckets.emplace_back(call.bucket, call.bytes);
  }
  void broadcast(distributed::Buffer, int, const distributed::Collective&) override {}
  void reduce(distributed::Buffer, int, distributed::ReduceOp,
              const distributed::Collective&) override {}
  void all_gather(distributed::Buffer, distributed::Buffer,
                  const distributed::Collective&) override {}
  void reduce_scatter(distributed::Buffer, distributed::Buffer, distributed::ReduceOp,
                      const distributed::Collective&) override {}
  void send(distributed::Buffer, int, const distributed::Collective&) override {}
  void recv(distributed::Buffer, int, const distributed::Collective&) override {}
  void abort(const std::string&) override {}

 private:
  const int size_;
};

}  // namespace lockstep::lessons
