// The fuzzers without a fuzzer: each is compiled, linked and called by ctest, with its
// seeds and with copies of them that are cut or have other bytes. (The fuzzers proper
// need clang and are not run by ctest; see CMakeLists.txt.)
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

// Each is the LLVMFuzzerTestOneInput of the file of that name.
extern "C" {
int checkpoint_fuzz(const uint8_t*, size_t);
int cifar_fuzz(const uint8_t*, size_t);
int folder_fuzz(const uint8_t*, size_t);
int picture_fuzz(const uint8_t*, size_t);
int pth_fuzz(const uint8_t*, size_t);
int safetensors_fuzz(const uint8_t*, size_t);
int journal_fuzz(const uint8_t*, size_t);
int trace_fuzz(const uint8_t*, size_t);
#ifdef LOCKSTEP_HAS_GUI
int viewer_fuzz(const uint8_t*, size_t);
#endif
}

namespace {

namespace fs = std::filesystem;

struct Fuzzer {
  std::string name;
  int (*run)(const uint8_t*, size_t);
  std::vector<std::string> seeds, folders = {};
  std::string before = {};  ///< bytes that the fuzzer takes before those of a file
};

void PrintTo(const Fuzzer& fuzzer, std::ostream* out) { *out << fuzzer.name; }

/// Returns the files of a folder of the repository, up to 64 KiB each.
std::vector<std::string> files_in(const std::string& folder) {
  std::vector<fs::path> files;
  for (const auto& entry :
       fs::directory_iterator(fs::path(LOCKSTEP_SOURCE_DIR) / folder)) {
    if (entry.is_regular_file() && entry.file_size() < 65536) files.push_back(entry);
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> texts;
  for (const fs::path& file : files) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    texts.push_back(text.str());
  }
  return texts;
}

class FuzzerSeeds : public testing::TestWithParam<Fuzzer> {
 protected:
  /// A fuzzer aborts if its input is neither read nor rejected as it should be.
  static void run(const std::string& text) {
    EXPECT_EQ(
        GetParam().run(reinterpret_cast<const uint8_t*>(text.data()), text.size()), 0);
  }
};

TEST_P(FuzzerSeeds, AreReadOrRejected) {
  std::vector<std::string> seeds = GetParam().seeds;
  for (const std::string& folder : GetParam().folders) {
    const std::vector<std::string> files = files_in(folder);
    EXPECT_FALSE(files.empty()) << folder;
    for (const std::string& file : files) seeds.push_back(GetParam().before + file);
  }
  std::mt19937 random(1);
  for (const std::string& text : seeds) {
    run(text);
    for (int copy = 0; copy < 4; ++copy) {
      std::string damaged = text;
      for (int i = 0; i < 3; ++i) {
        damaged[random() % damaged.size()] = static_cast<char>(random());
      }
      damaged.resize(damaged.size() - random() % (damaged.size() / 2 + 1));
      run(damaged);
    }
  }
}

const std::string kSafetensors =
    R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
const std::string kZeros(8, '\0');

INSTANTIATE_TEST_SUITE_P(
    All, FuzzerSeeds,
    testing::Values(
        Fuzzer{"checkpoint", checkpoint_fuzz, {"{}", R"({"epoch": 3, "mode": "ddp"})"}},
        Fuzzer{"cifar", cifar_fuzz, {std::string("\0\1\2\3", 4), "\1any bytes"}},
        Fuzzer{"folder", folder_fuzz, {"cat/1.jpg\ndog/2.png\n", "a/../b/x.jpeg"}},
        Fuzzer{"journal", journal_fuzz, {std::string(400, '\7'), std::string(4, '\1')}},
        Fuzzer{"picture", picture_fuzz, {}, {"tests/engine/data/pictures"}, "\1"},
        Fuzzer{"pth", pth_fuzz, {}, {"tests/engine/data/pth"}},
        Fuzzer{"safetensors",
               safetensors_fuzz,
               {std::string("\2\10", 2) + kSafetensors + kZeros}},
#ifdef LOCKSTEP_HAS_GUI
        Fuzzer{"viewer", viewer_fuzz, {}, {"tests/golden", "tests/golden/damaged"}},
#endif
        Fuzzer{"trace", trace_fuzz, {}, {"tests/golden", "tests/golden/damaged"}}),
    [](const auto& info) { return info.param.name; });

}  // namespace
