// Every collective on whole numbers, whose sums are exact in any order: what one
// library leaves in memory is what any other does.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/distributed/collectives/communicator.h"

namespace lockstep::test {

using distributed::Buffer;
using distributed::Collective;
using distributed::Communicator;
using distributed::ReduceOp;

struct Work {
  std::string name;
  int64_t parts;  ///< the buffer has as many elements for each count
  std::function<void(Communicator&, Buffer, const Collective&)> run;
};

inline void fill(Buffer data, int rank) {
  for (int64_t i = 0; i < data.numel; ++i) {
    const int value = static_cast<int>((i * 7 + rank * 13) % 23);
    void* const place = data.part(i, 1).data;
    switch (data.dtype) {
      case DType::f32:
        *static_cast<float*>(place) = static_cast<float>(value - 11);
        break;
      case DType::f64:
        *static_cast<double*>(place) = value - 11;
        break;
      case DType::i64:
        *static_cast<int64_t*>(place) = value - 11;
        break;
      case DType::u8:
        *static_cast<uint8_t*>(place) = static_cast<uint8_t>(value);
        break;
    }
  }
}

inline void gather(Communicator& c, Buffer data, const Collective& call) {
  const int64_t each = data.numel / c.size();
  std::string mine(each * item_size(data.dtype), '\0');
  const Buffer in{mine.data(), each, data.dtype};
  mine.assign(static_cast<char*>(data.data), mine.size());
  c.all_gather(in, data, call);
}

inline void scatter_sums(Communicator& c, Buffer data, const Collective& call) {
  const int64_t each = data.numel / c.size();
  std::string part(each * item_size(data.dtype), '\0');
  c.reduce_scatter(data, {part.data(), each, data.dtype}, ReduceOp::sum, call);
  part.copy(static_cast<char*>(data.data), part.size());
}

inline void send_to_1(Communicator& c, Buffer data, const Collective& call) {
  if (c.rank() == 0 && c.size() > 1) c.send(data, 1, call);
  if (c.rank() == 1) c.recv(data, 0, call);
}

inline std::vector<Work> works(int size) {
  std::vector<Work> all;
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::min, ReduceOp::max}) {
    all.push_back({"all_reduce " + std::to_string(static_cast<int>(op)), 1,
                   [op](Communicator& c, Buffer data, const Collective& call) {
                     c.all_reduce(data, op, call);
                   }});
  }
  for (int root = 0; root < size; ++root) {
    const std::string of = " of " + std::to_string(root);
    all.push_back({"broadcast" + of, 1,
                   [root](Communicator& c, Buffer data, const Collective& call) {
                     c.broadcast(data, root, call);
                   }});
    all.push_back({"reduce" + of, 1,
                   [root](Communicator& c, Buffer data, const Collective& call) {
                     c.reduce(data, root, ReduceOp::sum, call);
                   }});
  }
  all.push_back({"all_gather", size, gather});
  all.push_back({"reduce_scatter", size, scatter_sums});
  all.push_back({"send", 1, send_to_1});
  return all;
}

/// Returns a rank's memory after `work`, twice for each count; they include fewer
/// elements than ranks, and more than Gloo sends at once (1 MiB).
inline std::string memory_of(Communicator& mine, const Work& work, DType type) {
  std::string memory;
  Collective call;
  call.name = "test";
  for (const int64_t count : {0, 1, 2, 5, 1000, 700'001}) {
    std::string bytes(count * work.parts * item_size(type), '\0');
    const Buffer data{bytes.data(), count * work.parts, type};
    fill(data, mine.rank());
    call.bytes = data.bytes();
    for (int again = 0; again < 2; ++again, ++call.seq) work.run(mine, data, call);
    memory += bytes;
  }
  return memory;
}

}  // namespace lockstep::test
