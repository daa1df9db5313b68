#include "engine/data/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <span>
#include <stdexcept>
#include <utility>

#include "base/file.h"

namespace lockstep::data {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the format is little-endian");

constexpr uint64_t kLongestHeader =
    100'000'000;  // the limit of the format's reference library

[[noreturn]] void refuse(const std::string& file, const std::string& what) {
  throw std::runtime_error(
      fmt::format("{}: {}; fix: choose a .safetensors or .pth file", file, what));
}

void read_bytes(std::istream& in, void* bytes, uint64_t count,
                const std::string& file) {
  in.read(static_cast<char*>(bytes), static_cast<std::streamsize>(count));
  if (!in) refuse(file, "cannot be read completely");
}

/// The location of each tensor, and the file offset of the data.
struct Places {
  std::vector<TensorPlace> tensors;
  uint64_t data = 0;
};

Places read_header(std::istream& in, const std::string& name, Metadata* metadata) {
  in.seekg(0, std::ios::end);
  const auto size = static_cast<int64_t>(in.tellg());
  in.seekg(0);
  if (size < 8) refuse(name, "not a safetensors file: shorter than 8 bytes");

  uint64_t header_size = 0;
  read_bytes(in, &header_size, 8, name);
  const auto after = static_cast<uint64_t>(size) - 8;
  if (header_size > std::min(after, kLongestHeader)) {
    refuse(name, fmt::format("not a safetensors file, or a truncated one: it declares "
                             "a header of {} bytes, but {} bytes follow",
                             header_size, after));
  }
  std::string header(header_size, ' ');
  read_bytes(in, header.data(), header_size, name);
  return {parse_safetensors_header(header, after - header_size, name, metadata),
          8 + header_size};
}

std::ifstream open(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path)) refuse(path.string(), "is a folder");
  std::ifstream in(path, std::ios::binary);
  if (!in)
    refuse(path.string(), fmt::format("cannot be read: {}", std::strerror(errno)));
  return in;
}

}  // namespace

std::vector<TensorFileEntry> read_safetensors(std::istream& in, const std::string& name,
                                              Metadata* metadata) {
  std::vector<TensorFileEntry> entries;
  auto [places, data] = read_header(in, name, metadata);
  for (auto& [entry, begin, end] : places) {
    entry.data.resize(end - begin);
    in.seekg(static_cast<std::streamoff>(data + begin));
    read_bytes(in, entry.data.data(), entry.data.size(), name);
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<TensorFileEntry> read_safetensors(const std::filesystem::path& path,
                                              Metadata* metadata) {
  std::ifstream in = open(path);
  return read_safetensors(in, path.string(), metadata);
}

Metadata read_safetensors_metadata(const std::filesystem::path& path) {
  Metadata metadata;
  std::ifstream in = open(path);
  read_header(in, path.string(), &metadata);
  return metadata;
}

void write_safetensors(const std::filesystem::path& path,
                       const std::vector<TensorFileEntry>& entries,
                       const Metadata& metadata) {
  std::string header;
  try {
    header = format_safetensors_header(entries, metadata);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(
        fmt::format("{}: cannot be written: {}", path.string(), error.what()));
  }
  const uint64_t header_size = header.size();

  AtomicFile file(path, AtomicFile::Packing::none);
  file.write(std::as_bytes(std::span(&header_size, 1)));
  file.write(std::as_bytes(std::span(header)));
  for (const TensorFileEntry& entry : entries) file.write(entry.data);
  file.commit();
}

}  // namespace lockstep::data
