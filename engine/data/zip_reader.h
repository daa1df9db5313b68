// Zip archives, as torch.save and `zip` write them: members stored or deflated, with or
// without zip64. Encrypted and split archives are refused.
// Source: PKWARE's APPNOTE.TXT, sections 4.3 and 4.5.3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <map>
#include <string>
#include <vector>

namespace lockstep::data {

/// Trusts nothing: every offset and size is checked before it is used, members may not
/// overlap, and their checksums must be right. All errors are std::runtime_error with
/// one line, which does not name the file.
class ZipReader {
 public:
  /// Reads the directory. `in` must be seekable and must outlive this object.
  explicit ZipReader(std::istream& in);

  std::vector<std::string> names() const;
  bool contains(const std::string& name) const { return members_.contains(name); }
  /// Returns the size in bytes of a member after decompression. Throws if there is
  /// none.
  uint64_t size(const std::string& name) const { return member(name).size; }
  /// Returns the contents of a member. Throws if there is none or if it is damaged.
  std::vector<std::byte> read(const std::string& name);

 private:
  struct Member {
    uint64_t header = 0, packed = 0, size = 0;
    uint32_t checksum = 0;
    uint16_t method = 0;
  };
  struct Directory {
    uint64_t offset = 0, bytes = 0, members = 0;
  };

  const Member& member(const std::string& name) const;
  std::vector<std::byte> bytes_at(uint64_t offset, uint64_t count);
  Directory find_directory();
  void read_directory(const Directory& directory);
  void require_disjoint() const;

  std::istream& in_;
  uint64_t file_size_ = 0;
  std::map<std::string, Member> members_;
};

}  // namespace lockstep::data
