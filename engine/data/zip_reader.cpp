#include "engine/data/zip_reader.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <stdexcept>
#include <utility>

namespace lockstep::data {
namespace {

static_assert(std::endian::native == std::endian::little, "zip is little-endian");

constexpr uint64_t kLocal = 30, kCentral = 46, kEnd = 22, kLocator = 20, kEnd64 = 56;
constexpr uint64_t kLongestComment = 65535;
constexpr uint64_t kMostExpansion = 1032;  ///< of deflate
constexpr uint16_t kStored = 0, kDeflated = 8, kEncrypted = 1;
constexpr uint32_t kInZip64 = 0xFFFFFFFF;

[[noreturn]] void refuse_zip(const std::string& what) {
  throw std::runtime_error(what);
}

template <typename Number>
Number number_at(std::span<const std::byte> bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(Number)) {
    refuse_zip("the zip directory is truncated");
  }
  Number number;
  std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

uint32_t signature(std::span<const std::byte> bytes, uint64_t offset) {
  return number_at<uint32_t>(bytes, offset);
}

std::vector<std::byte> inflate_all(const std::vector<std::byte>& packed,
                                   uint64_t size) {
  std::vector<std::byte> result(size);
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) refuse_zip("zlib ran out of memory");
  constexpr uint64_t kMost = 1 << 30;  // zlib counts in 32 bits
  uint64_t read = 0, written = 0;
  int state = Z_OK;
  while (state == Z_OK) {
    const auto in = std::min(packed.size() - read, kMost);
    const auto out = std::min(size - written, kMost);
    stream.next_in =
        reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data())) + read;
    stream.avail_in = static_cast<uInt>(in);
    std::byte beyond;  // so that a stream of no bytes has somewhere to write to
    stream.next_out =
        reinterpret_cast<Bytef*>(size ? result.data() + written : &beyond);
    stream.avail_out = static_cast<uInt>(out);
    state = inflate(&stream, Z_NO_FLUSH);
    read += in - stream.avail_in;
    written += out - stream.avail_out;
  }
  inflateEnd(&stream);
  if (state != Z_STREAM_END || written != size)
    refuse_zip("its compression is damaged");
  return result;
}

uint32_t checksum_of(const std::vector<std::byte>& bytes) {
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

/// Returns a member's name as one short printable line.
std::string shown(std::string name) {
  for (char& c : name) c = c < ' ' || c > '~' ? '?' : c;
  return name.substr(0, 80);
}

/// The 64-bit values of an extra field, in order.
class Zip64 {
 public:
  explicit Zip64(std::span<const std::byte> extra) {
    for (uint64_t at = 0; at + 4 <= extra.size();) {
      const auto tag = number_at<uint16_t>(extra, at),
                 bytes = number_at<uint16_t>(extra, at + 2);
      if (bytes > extra.size() - at - 4) return;
      if (tag == 1) values_ = extra.subspan(at + 4, bytes);
      at += 4 + bytes;
    }
  }
  uint64_t or_64(uint32_t value) {
    if (value != kInZip64) return value;
    return number_at<uint64_t>(values_, std::exchange(at_, at_ + 8));
  }

 private:
  std::span<const std::byte> values_;
  uint64_t at_ = 0;
};

}  // namespace

ZipReader::ZipReader(std::istream& in) : in_(in) {
  in_.seekg(0, std::ios::end);
  file_size_ = static_cast<uint64_t>(in_.tellg());
  read_directory(find_directory());
  require_disjoint();
}

std::vector<std::byte> ZipReader::bytes_at(uint64_t offset, uint64_t count) {
  if (offset > file_size_ || count > file_size_ - offset) {
    refuse_zip("is truncated, or its zip directory is damaged");
  }
  std::vector<std::byte> bytes(count);
  in_.clear();
  in_.seekg(static_cast<std::streamoff>(offset));
  in_.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(count));
  if (!in_) refuse_zip("cannot be read completely");
  return bytes;
}

ZipReader::Directory ZipReader::find_directory() {
  const uint64_t tail = std::min(file_size_, kEnd + kLongestComment + kLocator);
  const auto bytes = bytes_at(file_size_ - tail, tail);
  for (uint64_t at = tail < kEnd ? 0 : tail - kEnd + 1; at-- > 0;) {
    if (signature(bytes, at) != 0x06054B50) continue;
    const uint64_t locator = at - kLocator;
    if (at >= kLocator && signature(bytes, locator) == 0x07064B50) {
      const auto end = bytes_at(number_at<uint64_t>(bytes, locator + 8), kEnd64);
      if (signature(end, 0) != 0x06064B50) refuse_zip("its zip64 directory is damaged");
      return {number_at<uint64_t>(end, 48), number_at<uint64_t>(end, 40),
              number_at<uint64_t>(end, 32)};
    }
    return {number_at<uint32_t>(bytes, at + 16), number_at<uint32_t>(bytes, at + 12),
            number_at<uint16_t>(bytes, at + 10)};
  }
  refuse_zip("is truncated: a zip archive ends with its directory");
}

void ZipReader::read_directory(const Directory& directory) {
  const auto bytes = bytes_at(directory.offset, directory.bytes);
  uint64_t at = 0;
  for (uint64_t i = 0; i < directory.members; ++i) {
    if (signature(bytes, at) != 0x02014B50) refuse_zip("its zip directory is damaged");
    const auto flags = number_at<uint16_t>(bytes, at + 8);
    const uint64_t name_bytes = number_at<uint16_t>(bytes, at + 28),
                   extra_bytes = number_at<uint16_t>(bytes, at + 30),
                   comment_bytes = number_at<uint16_t>(bytes, at + 32);
    const uint64_t next = at + kCentral + name_bytes + extra_bytes + comment_bytes;
    if (next > bytes.size()) refuse_zip("the zip directory is truncated");
    const std::string name(reinterpret_cast<const char*>(bytes.data()) + at + kCentral,
                           name_bytes);
    Zip64 wide(std::span<const std::byte>(bytes).subspan(at + kCentral + name_bytes,
                                                         extra_bytes));
    Member member;
    member.method = number_at<uint16_t>(bytes, at + 10);
    member.checksum = number_at<uint32_t>(bytes, at + 16);
    member.size = wide.or_64(number_at<uint32_t>(bytes, at + 24));
    member.packed = wide.or_64(number_at<uint32_t>(bytes, at + 20));
    member.header = wide.or_64(number_at<uint32_t>(bytes, at + 42));
    if (flags & kEncrypted) refuse_zip("is encrypted");
    if (!members_.emplace(name, member).second) {
      refuse_zip(fmt::format("contains '{}' twice", shown(name)));
    }
    at = next;
  }
}

/// Refuses overlapping members: a small file whose members share their bytes could
/// otherwise fill the memory.
void ZipReader::require_disjoint() const {
  std::vector<std::pair<uint64_t, uint64_t>> places;
  for (const auto& [name, member] : members_) {
    places.emplace_back(member.header, member.packed);
  }
  std::sort(places.begin(), places.end());
  uint64_t end = 0;
  for (const auto& [begin, packed] : places) {
    if (begin < end) refuse_zip("its zip members overlap");
    if (begin > file_size_ || packed > file_size_ - begin) {
      refuse_zip("is truncated, or its zip directory is damaged");
    }
    end = begin + kLocal + packed;
  }
}

const ZipReader::Member& ZipReader::member(const std::string& name) const {
  const auto found = members_.find(name);
  if (found == members_.end()) {
    refuse_zip(fmt::format("contains no '{}'", shown(name)));
  }
  return found->second;
}

std::vector<std::string> ZipReader::names() const {
  std::vector<std::string> names;
  for (const auto& [name, member] : members_) names.push_back(name);
  return names;
}

std::vector<std::byte> ZipReader::read(const std::string& name) {
  const Member& m = member(name);
  const auto header = bytes_at(m.header, kLocal);
  if (signature(header, 0) != 0x04034B50) {
    refuse_zip(fmt::format("'{}' is not where the zip directory says", shown(name)));
  }
  const uint64_t begin = m.header + kLocal + number_at<uint16_t>(header, 26) +
                         number_at<uint16_t>(header, 28);
  if (m.method != kStored && m.method != kDeflated) {
    refuse_zip(fmt::format("'{}' is compressed by method {}, not deflate", shown(name),
                           m.method));
  }
  const bool fits =
      m.method == kStored ? m.size == m.packed : m.size / kMostExpansion <= m.packed;
  if (!fits) refuse_zip(fmt::format("'{}' has an impossible size", shown(name)));
  auto bytes = bytes_at(begin, m.packed);
  if (m.method == kDeflated) bytes = inflate_all(bytes, m.size);
  if (checksum_of(bytes) != m.checksum) {
    refuse_zip(fmt::format("'{}' is damaged (its checksum differs)", shown(name)));
  }
  return bytes;
}

}  // namespace lockstep::data
