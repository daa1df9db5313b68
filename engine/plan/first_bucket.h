// DDP's buckets with another limit of the first one: for programs that were not run.
#pragma once

#include "engine/plan/buckets.h"

namespace lockstep::plan {

/// As rebuilt_buckets(), but the first bucket closes when it reaches `first` bytes.
std::vector<Bucket> rebuilt_buckets_from(const std::vector<BucketItem>& parameters,
                                         const std::vector<size_t>& ready_order,
                                         int64_t first, int64_t cap);

}  // namespace lockstep::plan
