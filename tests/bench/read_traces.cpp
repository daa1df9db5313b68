// Measures how fast our scanner and simdjson iterate over the events of a trace. Both
// fetch the fields that the reader uses. Prints results; checks no limits.
//   read_traces FILE.json [ROUNDS]
#include <fmt/format.h>
#include <simdjson.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>

#include "tracer/format/file_io.h"
#include "tracer/format/tokens.h"
#include "tracer/format/trace_file.h"

namespace {

using namespace lockstep::tracer;  // NOLINT
namespace ondemand = simdjson::ondemand;

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
constexpr const char* kVersion = TEXT(SIMDJSON_VERSION);

double cpu_seconds() {
  timespec cpu{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  return static_cast<double>(cpu.tv_sec) + 1e-9 * static_cast<double>(cpu.tv_nsec);
}

/// The fetched data; all readers must give the same.
struct Fetched {
  size_t events = 0, names = 0;           ///< names: bytes
  int64_t times = 0, lanes = 0, ids = 0;  ///< sums

  void take_time(std::string_view token) {
    int64_t time = 0;
    if (nanoseconds(token, time)) times += time;
  }
};

/// Our scanner. It also reads the links between events from `args`.
template <Grammar grammar>
Fetched scanned(std::string_view text) {
  using File = TraceFile<grammar>;
  using Found = typename File::Found;
  Fetched all;
  File file(text);
  for (Found found = file.next(); found != Found::end; found = file.next()) {
    if (found != Found::event) continue;
    const EventFields& event = file.fields();
    ++all.events;
    all.names += content(event.name).size() + content(event.ph).size();
    all.take_time(event.ts);
    all.take_time(event.dur);
    all.lanes += parse_integer(event.pid, 0) + parse_integer(event.tid, 0);
    all.ids += std::max<int64_t>(event.id, 0);
  }
  if (file.scan().error() != nullptr) fmt::print("damaged\n");
  return all;
}

std::string_view trimmed(std::string_view token) {
  return token.substr(0, token.find_last_not_of(" \t\r\n") + 1);
}

/// simdjson's On-Demand API. Fetches only the id from `args`; our reader extracts more
/// fields. Validates UTF-8 everywhere, but the grammar only of the parts that it
/// visits.
Fetched on_demand(const simdjson::padded_string& text, ondemand::parser& parser) {
  Fetched all;
  ondemand::document document = parser.iterate(text);
  for (ondemand::object event : document["traceEvents"].get_array()) {
    ++all.events;
    for (auto field : event) {
      const std::string_view key = field.unescaped_key();
      ondemand::value value = field.value();
      if (key == "name" || key == "ph") {
        all.names += std::string_view(value.get_string()).size();
      } else if (key == "ts" || key == "dur") {
        all.take_time(trimmed(value.raw_json_token()));
      } else if (key == "pid" || key == "tid") {
        all.lanes += int64_t(value.get_int64());
      } else if (key == "args") {
        ondemand::object args = value.get_object();
        for (auto arg : args) {
          if (std::string_view(arg.unescaped_key()) == "id") {
            all.ids += int64_t(arg.value().get_int64());
          }
        }
      }
    }
  }
  return all;
}

/// simdjson's DOM API, which validates the whole grammar, like our strict scanner.
Fetched as_tree(const simdjson::padded_string& text, simdjson::dom::parser& parser) {
  Fetched all;
  const simdjson::dom::element tree = parser.parse(text);
  for (const simdjson::dom::object event : tree["traceEvents"].get_array()) {
    ++all.events;
    for (const auto [key, value] : event) {
      if (key == "name" || key == "ph") {
        all.names += std::string_view(value).size();
      } else if (key == "ts" || key == "dur") {
        // A double is exact for this file's nanoseconds, but not for every file's.
        all.times += static_cast<int64_t>(double(value) * 1000 + 0.5);
      } else if (key == "pid" || key == "tid") {
        all.lanes += int64_t(value);
      } else if (key == "args") {
        int64_t id = 0;
        if (value["id"].get(id) == simdjson::SUCCESS) all.ids += id;
      }
    }
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "read_traces FILE.json [ROUNDS]; fix: viewer_bench --keep\n");
    return 2;
  }
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 3;
  const simdjson::padded_string text(read_whole_file(argv[1]));
  const auto megabytes = static_cast<double>(text.size()) * 1e-6;
  ondemand::parser on_demand_parser;
  simdjson::dom::parser tree_parser;

  struct Reader {
    const char* name;
    std::function<Fetched()> read;
    double seconds = 1e9;
  };
  const std::string_view view = text;
  Reader readers[] = {
      {"ours, strict", [&] { return scanned<Grammar::strict>(view); }},
      {"ours, tolerant", [&] { return scanned<Grammar::tolerant>(view); }},
      {"simdjson, on demand", [&] { return on_demand(text, on_demand_parser); }},
      {"simdjson, tree", [&] { return as_tree(text, tree_parser); }},
  };
  for (int round = 0; round < rounds; ++round) {  // alternating readers
    for (Reader& reader : readers) {
      const double begin = cpu_seconds();
      const Fetched fetched = reader.read();
      reader.seconds = std::min(reader.seconds, cpu_seconds() - begin);
      if (round > 0) continue;
      fmt::print("{:<20} {} events, {} B of names, times {}, lanes {}, ids {}\n",
                 reader.name, fetched.events, fetched.names, fetched.times,
                 fetched.lanes, fetched.ids);
    }
  }
  fmt::print("{:.0f} MB, the fastest of {} rounds, simdjson {} ({})\n", megabytes,
             rounds, kVersion, simdjson::get_active_implementation()->name());
  for (const Reader& reader : readers) {
    fmt::print("{:<20} {:7.3f} s CPU {:6.0f} MB/s  {:5.2f}x ours, strict\n",
               reader.name, reader.seconds, megabytes / reader.seconds,
               readers[0].seconds / reader.seconds);
  }
  return 0;
}
