// Any changes to a journal, and any bytes as one: reading gives a trace or one
// exception. The input is a list of changes: three bytes of a place, one of a value.
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "tests/tracer/record/recorded_steps.h"
#include "tracer/analysis/check.h"
#include "tracer/record/journal.h"

using namespace lockstep::tracer;  // NOLINT

namespace {

std::string recorded_journal() {
  const std::string file = std::filesystem::temp_directory_path() /
                           ("journal_fuzz." + std::to_string(::getpid()));
  if (!open_journal(file, recorded::description()).empty()) std::abort();
  recorded::make_steps(0, 3);
  std::string bytes = read_whole_file(file);
  bytes.resize(bytes.find_last_not_of('\0') + 1);
  stop_recording();
  collect();
  remove_journal();
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string* const whole = new std::string(recorded_journal());
  std::string changed = *whole;
  for (; size >= 4; size -= 4, data += 4) {
    const size_t place = data[0] + 256 * data[1] + 65536 * data[2];
    changed[place % changed.size()] = static_cast<char>(data[3]);
  }
  try {
    check_text(check_trace(read_journal(changed, "input")));
  } catch (const std::runtime_error&) {
  }
  return 0;
}
