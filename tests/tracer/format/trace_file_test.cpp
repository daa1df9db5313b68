// The reader never reads past the end of the text, wherever a file is truncated.
// sanitize: address
#include "tracer/format/trace_file.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "tests/tracer/golden.h"
#include "tracer/format/file_io.h"
#include "tracer/format/trace.h"

namespace lockstep::tracer {
using namespace testing;  // NOLINT
namespace {

/// Memory followed by an inaccessible page.
class GuardedText {
 public:
  explicit GuardedText(size_t most)
      : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))),
        size_((most / page_ + 1) * page_),
        begin_(static_cast<char*>(mmap(nullptr, size_ + page_, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    mprotect(begin_ + size_, page_, PROT_NONE);
  }
  ~GuardedText() { munmap(begin_, size_ + page_); }
  GuardedText(const GuardedText&) = delete;
  GuardedText& operator=(const GuardedText&) = delete;

  /// Returns a copy of `text` that ends at the end of the memory.
  std::string_view place(std::string_view text) {
    char* at = begin_ + size_ - text.size();
    std::memcpy(at, text.data(), text.size());
    return {at, text.size()};
  }

 private:
  const size_t page_, size_;
  char* const begin_;
};

template <Grammar grammar>
size_t events_in(std::string_view text) {
  TraceFile<grammar> file(text);
  size_t events = 0;
  using Found = typename TraceFile<grammar>::Found;
  for (Found found = file.next(); found != Found::end; found = file.next()) {
    events += found == Found::event;
  }
  return events;
}

TEST(TraceFile, StaysInsideATextCutOffAnywhere) {
  const std::string whole = read_whole_file(minimal_path());
  GuardedText guarded(whole.size());
  size_t most = 0;
  for (size_t size = 1; size <= whole.size(); ++size) {
    const std::string_view text =
        guarded.place(std::string_view(whole).substr(0, size));
    const size_t strict = events_in<Grammar::strict>(text);
    const size_t tolerant = events_in<Grammar::tolerant>(text);
    EXPECT_LE(strict, tolerant) << "of " << size << " bytes";
    EXPECT_GE(strict, most) << "of " << size << " bytes";
    most = strict;
  }
  EXPECT_EQ(most, read_trace(minimal_path()).events.size() + 0u);
}

}  // namespace
}  // namespace lockstep::tracer
