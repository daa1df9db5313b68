#include "engine/data/pth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <stdexcept>
#include <utility>

namespace lockstep::data {
namespace {

/// The first pickle of the format without zip: the number 0x1950A86A20F9469CFC6C.
constexpr std::string_view kLegacyMagic{"\x80\x02\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19.",
                                        15};
constexpr std::string_view kZipMagic{"PK\x03\x04", 4};
constexpr int kLegacyVersion = 1001;
constexpr const char* kSaveAgain = "copy or save it again";

std::unique_ptr<std::istream> open_pth(const std::filesystem::path& path) {
  auto in = std::make_unique<std::ifstream>(path, std::ios::binary);
  if (*in) return in;
  throw std::runtime_error(
      fmt::format("{}: cannot be read: {}; fix: choose a .pth file", path.string(),
                  std::strerror(errno)));
}

std::string beginning(std::istream& in, size_t count) {
  std::string bytes(count, '\0');
  in.seekg(0);
  in.read(bytes.data(), static_cast<std::streamsize>(count));
  bytes.resize(static_cast<size_t>(in.gcount()));
  in.clear();
  return bytes;
}

uint64_t size_of(std::istream& in) {
  in.seekg(0, std::ios::end);
  return static_cast<uint64_t>(in.tellg());
}

}  // namespace

bool is_pth(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes = beginning(in, kLegacyMagic.size());
  return bytes.starts_with(kZipMagic) || bytes == kLegacyMagic;
}

PthFile::PthFile(const std::filesystem::path& path)
    : PthFile(open_pth(path), path.string()) {}

PthFile::PthFile(std::unique_ptr<std::istream> in, std::string name)
    : in_(std::move(in)), name_(std::move(name)) {
  try {
    open();
  } catch (const std::runtime_error& error) {
    refuse(error.what(), kSaveAgain);
  }
}

void PthFile::refuse(const std::string& what, const std::string& fix) const {
  if (what.find("; fix: ") != std::string::npos) {
    throw std::runtime_error(fmt::format("{}: {}", name_, what));
  }
  throw std::runtime_error(fmt::format("{}: {}; fix: {}", name_, what, fix));
}

void PthFile::open() {
  if (beginning(*in_, kZipMagic.size()) == kZipMagic) return open_zip();
  if (beginning(*in_, kLegacyMagic.size()) == kLegacyMagic) return open_legacy();
  throw std::runtime_error("was not written by torch.save");
}

void PthFile::open_zip() {
  zip_.emplace(*in_);
  constexpr std::string_view kObject = "data.pkl";
  for (const std::string& name : zip_->names()) {
    const size_t folder = name.find('/') + 1;
    if (folder > 0 && name.substr(folder) == kObject) folder_ = name.substr(0, folder);
  }
  if (folder_.empty()) throw std::runtime_error("contains no data.pkl");
  if (zip_->contains(folder_ + "constants.pkl")) {
    throw std::runtime_error(
        "is a TorchScript archive, which contains code; fix: save model.state_dict()");
  }
  if (zip_->contains(folder_ + "byteorder")) {
    const auto order = zip_->read(folder_ + "byteorder");
    if (std::string_view(reinterpret_cast<const char*>(order.data()), order.size()) !=
        "little") {
      throw std::runtime_error("was written on a big-endian machine");
    }
  }
  const auto program = zip_->read(folder_ + std::string(kObject));
  content_ =
      read_pickle({reinterpret_cast<const char*>(program.data()), program.size()});
}

void PthFile::open_legacy() {
  constexpr size_t kMostPickles = 16 << 20;
  const uint64_t file_size = size_of(*in_);
  const std::string bytes =
      beginning(*in_, std::min(file_size, uint64_t{kMostPickles}));
  size_t at = kLegacyMagic.size();
  const auto next = [&] {
    Pickle pickle = read_pickle(std::string_view(bytes).substr(at));
    at += pickle.bytes;
    return pickle;
  };
  const Pickle version = next(), system = next();
  if (version.at(version.root).integer != kLegacyVersion) {
    throw std::runtime_error("has an unknown version");
  }
  const PickledValue* little = system.find(system.at(system.root), "little_endian");
  if (little && little->integer == 0) {
    throw std::runtime_error("was written on a big-endian machine");
  }
  content_ = next();
  std::map<std::string, uint64_t> sizes;
  for (const PickledStorage& s : content_.storages) {
    int64_t count = 0;
    if (__builtin_mul_overflow(s.numel, item_size(s.type), &count)) count = INT64_MAX;
    uint64_t& size = sizes[s.key];  // of several descriptions, the largest
    size = std::max(size, static_cast<uint64_t>(count));
  }
  const Pickle keys = next();
  uint64_t place = at;
  for (const uint32_t index : keys.at(keys.root).items) {
    const auto size = sizes.find(keys.at(index).text);
    if (size == sizes.end())
      throw std::runtime_error("its list of storages is damaged");
    place += 8;  // the number of elements, known from the object
    places_[size->first] = place;
    if (place > file_size || size->second > file_size - place) {
      throw std::runtime_error("is truncated");
    }
    place += size->second;
  }
}

std::vector<std::byte> PthFile::storage(const PickledStorage& storage) {
  int64_t wanted = 0;
  if (__builtin_mul_overflow(storage.numel, item_size(storage.type), &wanted)) {
    wanted = -1;
  }
  if (zip_) {
    auto bytes = zip_->read(folder_ + "data/" + storage.key);
    if (static_cast<int64_t>(bytes.size()) == wanted) return bytes;
    throw std::runtime_error(fmt::format("storage '{}' has {} bytes, but {} numbers",
                                         printable_text(storage.key), bytes.size(),
                                         storage.numel));
  }
  const auto place = places_.find(storage.key);
  if (place == places_.end())
    throw std::runtime_error("its list of storages is damaged");
  std::vector<std::byte> bytes(static_cast<size_t>(wanted));  // fits: see open_legacy
  in_->clear();
  in_->seekg(static_cast<std::streamoff>(place->second));
  in_->read(reinterpret_cast<char*>(bytes.data()), wanted);
  if (!*in_) throw std::runtime_error("cannot be read completely");
  return bytes;
}

std::vector<TensorFileEntry> PthFile::read(const std::vector<Request>& requests) {
  try {
    return read_all(requests);
  } catch (const std::runtime_error& error) {
    refuse(error.what(), kSaveAgain);
  }
}

/// Reads each storage once, for all tensors that share it.
std::vector<TensorFileEntry> PthFile::read_all(const std::vector<Request>& requests) {
  std::map<std::string, std::vector<size_t>> sharing;
  for (size_t i = 0; i < requests.size(); ++i) {
    const PickledTensor& tensor = content_.tensors[requests[i].tensor];
    sharing[content_.storages[tensor.storage].key].push_back(i);
  }
  std::vector<TensorFileEntry> entries(requests.size());
  for (const auto& [key, users] : sharing) {
    constexpr size_t kMostSharing = 64;  // or a small file could fill the memory
    size_t taken = 0;
    const PickledStorage& first =
        content_.storages[content_.tensors[requests[users[0]].tensor].storage];
    const std::vector<std::byte> bytes = storage(first);
    for (const size_t i : users) {
      const PickledTensor& tensor = content_.tensors[requests[i].tensor];
      const PickledStorage& described = content_.storages[tensor.storage];
      if (described.type != first.type || described.numel != first.numel) {
        throw std::runtime_error(
            fmt::format("storage '{}' is described twice", printable_text(key)));
      }
      entries[i] = contiguous(requests[i].name, tensor, described, bytes);
      taken += entries[i].data.size();
      if (taken / kMostSharing > bytes.size()) {
        throw std::runtime_error(
            fmt::format("too many tensors share storage '{}'", printable_text(key)));
      }
    }
  }
  return entries;
}

}  // namespace lockstep::data
