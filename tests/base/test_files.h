// Helpers for tests of files: scratch folders, files and expected errors.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace lockstep {

/// Creates a separate folder for each test and removes it at the end.
class ScratchTest : public testing::Test {
 protected:
  ScratchTest() {
    std::string name =
        (std::filesystem::temp_directory_path() / "data-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("mkdtemp failed");
    scratch_ = name;
  }
  ~ScratchTest() override { std::filesystem::remove_all(scratch_); }

  /// Names of the files in the folder, hidden files included, sorted.
  std::vector<std::string> listing() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(scratch_)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  std::filesystem::path scratch_;
};

inline void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Returns the message of the std::runtime_error that `action` throws. Fails the test
/// if it throws none.
template <typename Action>
std::string error_of(Action&& action) {
  try {
    action();
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no std::runtime_error was thrown";
  return "";
}

/// Expects a one-line message that contains every one of `parts`.
template <typename Action, typename... Parts>
void expect_error(Action&& action, const Parts&... parts) {
  const std::string message = error_of(action);
  for (const std::string& part : {std::string(parts)...}) {
    EXPECT_NE(message.find(part), std::string::npos) << message << "\nlacks: " << part;
  }
}

}  // namespace lockstep
