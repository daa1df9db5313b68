// Which gradients DistributedDataParallel reduces together, and in which order: buckets
// of about 25 MiB, so that reducing the first overlaps with computing the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep::plan {

/// The limit of the first bucket: small, so that reduction starts early.
inline constexpr int64_t kFirstBucketBytes = 1024 * 1024;
/// The limit of all other buckets: PyTorch's default `bucket_cap_mb=25`, in bytes.
inline constexpr int64_t kBucketCap = 25 * 1024 * 1024;

/// A tensor to assign to a bucket. Tensors with different keys (pairs of dtype and
/// device) never share a bucket.
struct BucketItem {
  int64_t bytes;
  int key = 0;
};

/// Indices of a bucket's tensors in the order of its flat buffer: a tensor's offset is
/// the total size of those before it.
using Bucket = std::vector<size_t>;

/// Assigns tensors in order; each key fills its own bucket, closes it once its size
/// reaches the key's current limit, then moves on to the next limit, staying at the
/// last. Tensors are not split, so buckets overshoot. Buckets are sorted by smallest
/// index. REQUIRES: `limits` (bytes) is not empty.
/// Source: torch/csrc/distributed/c10d/reducer.cpp,
/// `compute_bucket_assignment_by_size`.
std::vector<Bucket> assign_buckets(const std::vector<BucketItem>& tensors,
                                   const std::vector<int64_t>& limits);

/// How the first step is divided, when the order of gradients is still unknown.
enum class BucketRule {
  current,     ///< since PyTorch 1.12: one bucket, reduced after the whole backward
  torch_1_11,  ///< up to 1.11: buckets guessed from the order of registration
};

/// Returns the first step's buckets in launch order; tensors are in registration order,
/// also within a bucket. The guess (`torch_1_11`, and always with
/// `find_unused_parameters`) assigns with limits [1 MiB, cap] from the first parameter
/// on and reverses the list: its small bucket is launched last. One bucket means one
/// per key.
/// Source: torch/nn/parallel/distributed.py, `_ddp_init_helper`.
std::vector<Bucket> first_buckets(const std::vector<BucketItem>& parameters,
                                  BucketRule rule, bool find_unused_parameters,
                                  int64_t cap = kBucketCap);

/// True if the second forward rebuilds the buckets, once. Under both rules only
/// `find_unused_parameters` prevents it, as the ready order may then change.
/// Source: torch/csrc/distributed/c10d/reducer.hpp, `should_rebuild_buckets`.
constexpr bool rebuilds(bool find_unused_parameters) { return !find_unused_parameters; }

/// Returns the buckets of all later steps in launch order: limits [1 MiB, cap] over the
/// parameters in the order in which their gradients became ready, also within a bucket.
/// The first limit is 1 MiB under every cap (PyTorch 1.13; later releases use a cap set
/// by the user). Unfilled buckets come last, the key seen last first: PyTorch leaves
/// their order to a hash table, and this is libstdc++'s. REQUIRES: `ready_order` names
/// every parameter once.
/// Source: torch/csrc/distributed/c10d/reducer.cpp, `rebuild_buckets`.
std::vector<Bucket> rebuilt_buckets(const std::vector<BucketItem>& parameters,
                                    const std::vector<size_t>& ready_order,
                                    int64_t cap = kBucketCap);

}  // namespace lockstep::plan
