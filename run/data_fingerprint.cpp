#include "run/data_fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <span>
#include <stdexcept>

#include "base/hash.h"
#include "engine/data/cifar10.h"
#include "engine/data/image_folder.h"
#include "run/rank_agreement.h"

namespace lockstep::run {
namespace {

constexpr int64_t kSizes = 4096;  ///< the most files of which the size is read
constexpr int64_t kParts = 64;    ///< compared in one round of the search

uint64_t mixed(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 32);
}

uint64_t checksum(std::span<const uint8_t> bytes) {
  uint64_t hash = bytes.size(), word = 0;
  for (size_t at = 0; at < bytes.size(); at += sizeof word) {
    word = 0;
    std::memcpy(&word, bytes.data() + at, std::min(sizeof word, bytes.size() - at));
    hash = mixed(hash, word);
  }
  return hash;
}

std::string below(const std::string& folder, const std::string& path) {
  return path.starts_with(folder + "/") ? path.substr(folder.size() + 1) : path;
}

/// One of the two sets, as it is called in messages.
struct Part {
  const char* name;
  const data::Dataset& set;
  std::string folder;
};

std::string hexadecimal_of(uint64_t hash) { return fmt::format("{:016x}", hash); }

/// The checksums of `count` samples in kParts pieces, or the samples themselves.
Facts pieces_of(const Part& part, int64_t first, int64_t count, int64_t piece) {
  Facts facts;
  for (int64_t at = first; at < first + count; at += piece) {
    const int64_t here = std::min(piece, first + count - at);
    if (piece == 1) {
      facts.emplace_back(fmt::format("{} sample {}:", part.name, at),
                         identity(part.set, part.folder, at, true));
    } else {
      facts.emplace_back(
          fmt::format("{} samples {} to {}:", part.name, at, at + here - 1),
          hexadecimal_of(fingerprint(part.set, part.folder, at, here)));
    }
  }
  return facts;
}

[[noreturn]] void refuse(const std::string& difference) {
  throw std::runtime_error(difference + "; fix: give all ranks the same data");
}

/// Narrows the difference down to a sample, in a round of all ranks for each factor of
/// kParts.
[[noreturn]] void name_sample(distributed::Store& store, const Part& part, int rank,
                              int world, Milliseconds timeout) {
  int64_t first = 0, count = part.set.size();
  std::string seen;
  for (int round = 0; count > 0; ++round) {
    const int64_t piece = (count + kParts - 1) / kParts;
    const auto found =
        compare(store, fmt::format("data/{}/{}", part.name, round),
                pieces_of(part, first, count, piece), rank, world, timeout);
    if (!found) break;  // the data have changed meanwhile
    seen = found->first_text();
    if (piece == 1) break;
    first += static_cast<int64_t>(found->facts.at(0)) * piece;
    count = std::min(piece, part.set.size() - first);
  }
  refuse(seen);
}

std::string class_names(const data::Dataset& set) {
  std::string names;
  if (const auto* images = dynamic_cast<const data::ImageFolder*>(&set)) {
    for (const std::string& name : images->class_names()) names += name + "/";
  }
  return fmt::format("{}{}", set.classes(),
                     names.empty() ? "" : " " + hexadecimal_of(fnv1a64(names)));
}

}  // namespace

std::string identity(const data::Dataset& set, const std::string& folder, int64_t index,
                     bool with_size) {
  if (const auto* cifar = dynamic_cast<const data::Cifar10*>(&set)) {
    const auto record = cifar->record(index);
    return fmt::format("label {}, pixels {}", record[0],
                       hexadecimal_of(checksum(record.subspan(1))));
  }
  const auto* images = dynamic_cast<const data::ImageFolder*>(&set);
  if (images == nullptr) return "";
  const std::string path = images->index().path(index);
  if (!with_size) return below(folder, path);
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return fmt::format("{}, {}", below(folder, path),
                     error ? error.message() : fmt::format("{} bytes", size));
}

uint64_t fingerprint(const data::Dataset& set, const std::string& folder, int64_t first,
                     int64_t count) {
  if (count == 0 || identity(set, folder, first, false).empty()) return 0;
  const int64_t every = std::max<int64_t>(1, (set.size() + kSizes - 1) / kSizes);
  uint64_t hash = 0;
  for (int64_t i = first; i < first + count; ++i) {
    hash = mixed(hash, fnv1a64(identity(set, folder, i, i % every == 0)));
  }
  return hash;
}

void agree_on_data(distributed::Store& store, const DataSets& data, int rank, int world,
                   Milliseconds timeout) {
  const Part train{"training", *data.train, data.place + "/train"};
  const Part test{"test", *data.test, data.place + "/val"};
  const auto whole = [](const Part& part) {
    return hexadecimal_of(fingerprint(part.set, part.folder, 0, part.set.size()));
  };
  const Facts facts{{"--dataset", data.name},
                    {"training samples:", std::to_string(train.set.size())},
                    {"test samples:", std::to_string(test.set.size())},
                    {"classes:", class_names(train.set)},
                    {"training data:", whole(train)},
                    {"test data:", whole(test)}};
  const auto found = compare(store, "data", facts, rank, world, timeout);
  if (!found) return;
  const std::string& name = facts[found->facts.at(0)].first;
  if (name == "training data:") name_sample(store, train, rank, world, timeout);
  if (name == "test data:") name_sample(store, test, rank, world, timeout);
  refuse(found->first_text());
}

}  // namespace lockstep::run
