// Paths of the tests' files.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace lockstep::tracer::testing {

namespace fs = std::filesystem;

inline fs::path golden() { return fs::path(LOCKSTEP_SOURCE_DIR) / "tests/golden"; }
inline std::string minimal_path() { return golden() / "minimal.json"; }

inline std::string minimal_ddp_path() { return golden() / "minimal_ddp.json"; }

inline std::string slurp(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A folder that is removed at the end of the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = fs::temp_directory_path() / "lockstep-test-XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~TemporaryFolder() { fs::remove_all(path_); }
  fs::path path() const { return path_; }
  std::string operator/(const char* name) const { return path_ / name; }
  size_t files() const {
    return std::distance(fs::directory_iterator(path_), fs::directory_iterator());
  }

 private:
  fs::path path_;
};

}  // namespace lockstep::tracer::testing
