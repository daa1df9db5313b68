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

/// Assigns tensors in order. Each key fills its own bucket, closes it once its size
/// reaches the key's current limit and advances to the next limit; the last one
/// repeats. Tensors are not split, so buckets may exceed their limits. The result is
/// sorted by smallest index. REQUIRES: `limits` (bytes) is not empty.
/// Source: torch/csrc/distributed/c10d/reducer.cpp,
/// `compute_bucket_assignment_by_size`.
std::vector<Bucket> assign_buckets(const std::vector<BucketItem>& tensors,
                                   const std::vector<int64_t>& limits);

/// How the first step is bucketed, while the order of gradients is still unknown.
enum class BucketRule {
  current,     ///< since PyTorch 1.12: one bucket, reduced after the backward pass
  torch_1_11,  ///< up to 1.11: buckets guessed from the registration order
};

/// Returns the first step's buckets in launch order; within a bucket, tensors are in
/// registration order. The guess (`torch_1_11`, and always with
/// `find_unused_parameters`) assigns the parameters in order, with limits [1 MiB, cap],
/// and reverses the list, so the small bucket is launched last. "One bucket" means one
/// per key.
/// Source: torch/nn/parallel/distributed.py, `_ddp_init_helper`.
std::vector<Bucket> first_buckets(const std::vector<BucketItem>& parameters,
                                  BucketRule rule, bool find_unused_parameters,
                                  int64_t cap = kBucketCap);

/// Returns true if the second forward pass rebuilds the buckets (once). Under both
/// rules, only `find_unused_parameters` prevents it: the ready order may then change.
/// Source: torch/csrc/distributed/c10d/reducer.hpp, `should_rebuild_buckets`.
constexpr bool rebuilds(bool find_unused_parameters) { return !find_unused_parameters; }

/// Returns the buckets of all later steps in launch order: limits [1 MiB, cap] applied
/// to the parameters in the order (also within a bucket) in which gradients became
/// ready. The first limit is 1 MiB for every cap (PyTorch 1.13; later releases use a
/// cap set by the user). Unfilled buckets come last, in reverse order of their keys'
/// first occurrence: PyTorch leaves this to a hash table; this is libstdc++'s order.
/// REQUIRES: `ready_order` contains every parameter exactly once.
/// Source: torch/csrc/distributed/c10d/reducer.cpp, `rebuild_buckets`.
std::vector<Bucket> rebuilt_buckets(const std::vector<BucketItem>& parameters,
                                    const std::vector<size_t>& ready_order,
                                    int64_t cap = kBucketCap);

}  // namespace lockstep::plan
