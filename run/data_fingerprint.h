// Verifies that all ranks have the same data: each machine may have a copy of its own.
#pragma once

#include <cstdint>
#include <string>

#include "engine/distributed/rendezvous/store.h"
#include "run/data_sets.h"

namespace lockstep::run {

/// Returns what identifies a sample, for people: of CIFAR-10 its label and a checksum
/// of its pixels, of an image folder the file's path below it and, if `with_size`, its
/// size (reading it may take a request to a file server). Empty for samples that follow
/// from the options. `folder`: of the image folder.
std::string identity(const data::Dataset& set, const std::string& folder, int64_t index,
                     bool with_size);

/// Returns a checksum of the identities of `count` samples from `first`, with the sizes
/// of files if the set has at most 4,096; of a larger one, with those of every n-th.
uint64_t fingerprint(const data::Dataset& set, const std::string& folder, int64_t first,
                     int64_t count);

/// Waits until every rank has called this function. Throws the same std::runtime_error
/// on every rank if a rank's data differ from rank 0's; it names the first difference:
/// the data set, its length, its classes, or a sample. Throws StoreTimeout as agree()
/// does.
void agree_on_data(distributed::Store& store, const DataSets& data, int rank, int world,
                   Milliseconds timeout);

}  // namespace lockstep::run
