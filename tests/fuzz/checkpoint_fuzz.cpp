// Any text as a checkpoint's metadata: it is parsed and survives a round trip, or is
// rejected with a one-line error.
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "engine/train/checkpoint_header.h"

using namespace lockstep;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  train::CheckpointHeader header;
  try {
    header = train::parse_header({{"lockstep", text}}, "fuzz");
  } catch (const std::runtime_error& error) {
    const std::string message = error.what();
    if (message.find('\n') != std::string::npos || message.empty()) abort();
    return 0;
  }
  const auto again = train::parse_header(train::format_header(header), "written");
  if (again.progress.arch != header.progress.arch) abort();
  if (again.progress.epoch != header.progress.epoch) abort();
  if (again.progress.samples != header.progress.samples) abort();
  if (again.progress.steps != header.progress.steps) abort();
  if (again.progress.recipe != header.progress.recipe) abort();
  if (again.dropout_calls != header.dropout_calls) abort();
  if (again.ready_order != header.ready_order) abort();
  if (again.checksums != header.checksums) abort();
  return 0;
}
