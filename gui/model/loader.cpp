#include "gui/model/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "gui/model/details.h"
#include "gui/model/event_reader.h"
#include "gui/model/raw_model.h"
#include "tracer/format/args.h"
#include "tracer/format/keys.h"
#include "tracer/format/partial.h"
#include "tracer/format/trace_file.h"

namespace lockstep::gui {

namespace {

constexpr size_t kMaxMeta = size_t{64} << 20;
constexpr size_t kMaxEvents = 100'000'000;

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  throw std::runtime_error(name + " " + why);
}

void find_failure(Model& model) {
  const tracer::Json& meta = meta_of(model);
  const auto failure = meta.find(top::failure);
  if (failure == meta.end() || !failure->is_object()) return;
  model.failure = string_arg(*failure, top::error);
  model.failed = model.event_of_id(int_arg(*failure, top::event, -1));
}

/// A recording that a crash has cut off, or that lacks ranks, says so.
void find_what_is_missing(Model& model) {
  tracer::Trace facts;
  facts.lockstep = meta_of(model);
  if (const auto partial = tracer::partial_of(facts)) {
    model.problems.push_back("partial recording: " + partial->text());
  }
}

/// The scanner has already checked that the object ends and is not nested too deeply.
tracer::Json parse_object(std::string_view text) {
  if (text.size() > kMaxMeta) return tracer::Json::object();
  tracer::Json json = tracer::Json::parse(text, nullptr, false);
  return json.is_object() ? json : tracer::Json::object();
}

}  // namespace

struct Loader::Reading {
  using File = tracer::TraceFile<tracer::Grammar::tolerant>;
  using Found = File::Found;

  RawModel raw;
  EventReader events{raw};
  File file;
  bool done = false;
  std::string_view meta, distributed;  ///< top-level JSON objects

  Model& model() { return raw.model; }
  const tracer::Scanner& scan() const { return file.scan(); }
  void open();
  void read_head();
  void read(size_t count);
  void take_member();
  void stop();
  void reserve();
};

void Loader::Reading::open() {
  const std::string& name = model().name;
  const std::string_view text = model().text;
  const size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first == std::string_view::npos) {
    refuse(name, "is empty; fix: record a trace with lockstep train --trace FILE");
  }
  if (text[first] != '{' && text[first] != '[') {
    refuse(name,
           "is not a trace, which begins with { or [; fix: record one with lockstep "
           "train --trace FILE");
  }
  file = File(text.substr(first));
}

/// Reads up to the list of events.
void Loader::Reading::read_head() {
  while (!file.has_events() && !done) {
    const Found found = file.next();
    if (found == Found::member) take_member();
    if (found == Found::end) stop();
  }
}

/// Reads at most `count` events.
void Loader::Reading::read(size_t count) {
  while (count > 0 && !done) {
    const Found found = file.next();
    if (found == Found::end) return stop();
    if (found == Found::member) take_member();
    if (found != Found::event) continue;
    events.take(file.fields());
    --count;
    reserve();
    if (model().events.size() < kMaxEvents) continue;
    model().problems.push_back(
        fmt::format("only the first {} events are shown", kMaxEvents));
    done = true;
  }
}

void Loader::Reading::take_member() {
  if (file.key() == top::lockstep) meta = file.value();
  if (file.key() == top::distributed) distributed = file.value();
}

void Loader::Reading::stop() {
  done = true;
  if (scan().error() == nullptr) return;
  // The format allows a bare list to end without its closing bracket.
  const size_t byte = static_cast<size_t>(scan().error_at() - model().text.data());
  const bool whole =
      file.is_bare() && byte >= model().text.find_last_not_of(" \t\r\n,") + 1;
  if (whole && !model().events.empty()) return;
  model().problems.push_back(
      fmt::format("the file is damaged at byte {}: {}{}", byte, scan().error(),
                  model().events.empty() ? "" : "; the events before it are shown"));
}

/// Reserves space for the number of events extrapolated from the text read already,
/// instead of doubling the capacity.
void Loader::Reading::reserve() {
  std::vector<Event>& known = model().events;
  if (known.size() < known.capacity() || known.size() < 5'000) return;
  const auto read = static_cast<double>(scan().at() - model().text.data());
  const double share = static_cast<double>(model().text.size()) / read;
  const auto expected = static_cast<size_t>(static_cast<double>(known.size()) * share);
  const size_t room = std::max(expected, known.size()) + known.size() / 64 + 1'000;
  known.reserve(room);
  raw.references.reserve(room);
}

Loader::Loader(std::string name, std::string_view text,
               std::shared_ptr<const void> owned)
    : reading_(std::make_unique<Reading>()) {
  Model& model = reading_->model();
  model.name = std::move(name);
  model.text = text;
  model.owned = std::move(owned);
  reading_->open();
  reading_->read_head();
  if (!reading_->file.has_events()) {
    const auto& problems = model.problems;
    refuse(model.name, "has no event list, \"traceEvents\": [ … ]" +
                           (problems.empty() ? "" : ": " + problems.back()) +
                           "; fix: record a trace with lockstep train --trace FILE");
  }
}

Loader::~Loader() = default;

bool Loader::read(size_t events) {
  reading_->read(events);
  return reading_->done;
}

double Loader::progress() const {
  const Reading& r = *reading_;
  if (r.done) return 1;
  const std::string_view text = r.raw.model.text;
  return static_cast<double>(r.scan().at() - text.data()) /
         static_cast<double>(text.size());
}

Model Loader::finish() {
  Reading& r = *reading_;
  Model& model = r.model();
  model.meta = std::make_shared<tracer::Json>(parse_object(r.meta));
  const tracer::Json distributed = parse_object(r.distributed);
  const int64_t rank = tracer::int_arg(distributed, top::rank, -1);
  r.raw.rank = std::clamp<int64_t>(rank, 0, 65'535);
  const int64_t ranks = tracer::int_arg(distributed, top::world_size, 1);
  if (rank >= 0 && ranks > 1) {
    model.alone = static_cast<int>(r.raw.rank);
    model.all_ranks = static_cast<int>(std::min<int64_t>(ranks, INT32_MAX));
  }
  r.events.finish();
  if (model.events.empty()) {
    refuse(model.name,
           "contains no event that can be shown" +
               (model.problems.empty() ? "" : ": " + model.problems.back()) +
               "; fix: record it again with lockstep train --trace FILE");
  }
  Model indexed = index_model(std::move(r.raw));
  find_failure(indexed);
  find_what_is_missing(indexed);
  return indexed;
}

Model load_model(std::string name, std::string text) {
  auto owned = std::make_shared<const std::string>(std::move(text));
  Loader loader(std::move(name), *owned, owned);
  while (!loader.read(SIZE_MAX)) {
  }
  return loader.finish();
}

}  // namespace lockstep::gui
