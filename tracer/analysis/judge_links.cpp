#include "tracer/analysis/judge_links.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "tracer/format/facts.h"

namespace lockstep::tracer {
namespace {

/// A time in which copies use a segment without a pause.
struct BusySegment {
  double gb_per_s = 0, bytes = 0;
  int64_t begin = 0, end = INT64_MIN;
  int64_t copies = 0, last = kNone;
};

/// Each copy's times are rounded to a nanosecond.
void judge_busy(Law& law, const std::string& name, const BusySegment& busy) {
  const auto taken = static_cast<double>(busy.end - busy.begin + 2 * busy.copies);
  law.expect(busy.bytes <= busy.gb_per_s * taken, busy.last, [&] {
    return fmt::format(
        "{} copies move {:.0f} B over {} in {:.3f} µs: more than its {} "
        "GB/s",
        busy.copies, busy.bytes, name, static_cast<double>(busy.end - busy.begin) / 1e3,
        busy.gb_per_s);
  });
}

/// Returns the vertices of `gpu0>switch0>gpu1`.
std::vector<std::string> vertices_of(const std::string& via) {
  std::vector<std::string> names;
  size_t begin = 0;
  for (size_t end = 0; end != via.npos; begin = end + 1) {
    end = via.find('>', begin);
    names.push_back(via.substr(begin, end == via.npos ? end : end - begin));
  }
  return names;
}

class Segments {
 public:
  explicit Segments(const Json& bandwidths) {
    for (const auto& [name, gb_per_s] : bandwidths.items()) {
      if (gb_per_s.is_number()) segments_[name].gb_per_s = gb_per_s.get<double>();
    }
  }

  /// Events must come in the order of time.
  void use(Law& law, const Event& copy) {
    const std::vector<std::string> names =
        vertices_of(string_arg(copy.args, keys::via));
    for (size_t i = 0; i + 1 < names.size(); ++i) {
      const auto found = find(names[i], names[i + 1]);
      law.expect(found != segments_.end(), copy.id, [&] {
        return fmt::format("copy `{}` moves from {} to {}, which are not connected",
                           copy.name, names[i], names[i + 1]);
      });
      if (found == segments_.end()) continue;
      BusySegment& busy = found->second;
      if (copy.ts > busy.end) {
        if (busy.copies > 0) judge_busy(law, found->first, busy);
        busy = {busy.gb_per_s, 0, copy.ts, copy.ts};
      }
      busy.bytes += number_arg(copy.args, keys::bytes);
      busy.end = std::max(busy.end, copy.end());
      busy.last = copy.id;
      ++busy.copies;
    }
  }

  void finish(Law& law) const {
    for (const auto& [name, busy] : segments_) {
      if (busy.copies > 0) judge_busy(law, name, busy);
    }
  }

 private:
  using ByName = std::map<std::string, BusySegment>;

  ByName::iterator find(const std::string& from, const std::string& to) {
    for (const std::string& name :
         {from + ">" + to, from + "-" + to, to + "-" + from}) {
      const auto found = segments_.find(name);
      if (found != segments_.end()) return found;
    }
    return segments_.end();
  }

  ByName segments_;
};

}  // namespace

void judge_links(TraceUnderTest& test, Law& law) {
  const Json& hardware =
      object_arg(object_arg(test.trace.lockstep, top::emulation), "hardware");
  Segments segments(object_arg(hardware, "segments"));
  for (const Event& event : test.trace.events) {
    if (event.ph != 'X' || !event.is(categories::copy)) continue;
    const CopyFacts copy = copy_facts(event);
    if (copy.src == copy.dst || copy.src == kNowhere || copy.dst == kNowhere) continue;
    law.expect(!string_arg(event.args, keys::via).empty(), event.id, [&] {
      return fmt::format("copy `{}` does not say which links it takes", event.name);
    });
    segments.use(law, event);
  }
  segments.finish(law);
}

}  // namespace lockstep::tracer
