// Which gradients DistributedDataParallel reduces together, and in which order: buckets
// of about 25 MiB, so that reducing the first overlaps with computing the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep::plan {

/// The first bucket's limit: small, so that reducing starts early.
inline constexpr int64_t kFirstBucketBytes = 1024 * 1024;
/// The limit of all others: PyTorch's default `bucket_cap_mb=25`, in bytes.
inline constexpr int64_t kBucketCap = 25 * 1024 * 1024;

/// A tensor to be put into a bucket. Tensors of different keys (a key is a pair of
/// dtype and device) never share one.
struct BucketItem {
  int64_t bytes;
  int key = 0;
};

/// Indices of the tensors of one bucket, in the order in which they lie in its flat
/// buffer: a tensor's offset is the size of those before it.
using Bucket = std::vector<size_t>;

/// Walks the tensors; each key fills a bucket of its own and closes it once its size
/// reaches the key's current limit, then moves on to the next limit and stays at the
/// last. No tensor is cut, so buckets overshoot. Buckets are sorted by smallest index.
/// REQUIRES: `limits` (bytes) is not empty.
/// Source: torch/csrc/distributed/c10d/reducer.cpp,
/// `compute_bucket_assignment_by_size`.
std::vector<Bucket> assign_buckets(const std::vector<BucketItem>& tensors,
                                   const std::vector<int64_t>& limits);

/// How the first step is cut, when nobody knows yet in which order gradients get ready.
enum class BucketRule {
  current,     ///< since PyTorch 1.12: one bucket, reduced after the whole backward
  torch_1_11,  ///< up to 1.11: buckets guessed from the order of registration
};

/// The first step's buckets in launch order; tensors are in registration order, within
/// a bucket too. The guess (`torch_1_11`, and always with `find_unused_parameters`) is
/// [1 MiB, cap] from the first parameter on, with the list of buckets reversed: its
/// small bucket is launched last. One bucket means one per key.
/// Source: torch/nn/parallel/distributed.py, `_ddp_init_helper`.
std::vector<Bucket> first_buckets(const std::vector<BucketItem>& parameters,
                                  BucketRule rule, bool find_unused_parameters,
                                  int64_t cap = kBucketCap);

/// Whether the second forward rebuilds the buckets, once and for good. Under both rules
/// only `find_unused_parameters` forbids it, as the ready order may then change.
/// Source: torch/csrc/distributed/c10d/reducer.hpp, `should_rebuild_buckets`.
constexpr bool rebuilds(bool find_unused_parameters) { return !find_unused_parameters; }

/// The buckets of all later steps in launch order: [1 MiB, cap] over the parameters as
/// their gradients got ready, which is also their order within a bucket. The first
/// limit stays 1 MiB under every cap (PyTorch 1.13; later releases take a cap set by
/// the user there too). Buckets never filled come last, the key seen last first:
/// PyTorch leaves their order to a hash table, and libstdc++'s does this.
/// REQUIRES: `ready_order` names every parameter once.
/// Source: torch/csrc/distributed/c10d/reducer.cpp, `rebuild_buckets`.
std::vector<Bucket> rebuilt_buckets(const std::vector<BucketItem>& parameters,
                                    const std::vector<size_t>& ready_order,
                                    int64_t cap = kBucketCap);

}  // namespace lockstep::plan
