// Any bytes as a file of torch.save: tensors whose bytes fit their shapes, or a
// one-line error. Seed corpus: tests/engine/data/pth.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/data/pth.h"

using namespace lockstep::data;

namespace {

void read_all_tensors(const std::string& bytes) {
  PthFile file(std::make_unique<std::istringstream>(bytes), "fuzz");
  std::vector<PthFile::Request> requests;
  for (size_t i = 0; i < file.content().tensors.size(); ++i) {
    requests.push_back({std::to_string(i), i});
  }
  for (const TensorFileEntry& entry : file.read(requests)) {
    uint64_t size = entry.dtype == "F32" ? 4 : 8;
    for (const int64_t length : entry.shape) size *= static_cast<uint64_t>(length);
    if (size != entry.data.size()) abort();
  }
}

void require_one_line(const std::runtime_error& error) {
  const std::string message = error.what();
  if (message.empty() || message.find('\n') != std::string::npos) abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string file(reinterpret_cast<const char*>(bytes), size);
  try {
    read_all_tensors(file);
  } catch (const std::runtime_error& error) {
    require_one_line(error);
  }
  try {
    read_pickle(file);  // without an archive, whose checksums the fuzzer must find
  } catch (const std::runtime_error& error) {
    require_one_line(error);
  }
  return 0;
}
