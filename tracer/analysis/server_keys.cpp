#include "tracer/analysis/server_keys.h"

#include <fmt/format.h>

#include "engine/plan/key_ranges.h"
#include "tracer/format/keys.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {

namespace {

/// More than any net of this project has; a file may claim anything.
constexpr size_t kMostParameters = 100'000;
constexpr int64_t kMostKeys = int64_t{1} << 50;

/// Returns the number of elements, or kNone if the shape is none.
int64_t elements_in_shape(const Json& tensor) {
  const auto shape = tensor.find("shape");
  if (shape == tensor.end() || !shape->is_array()) return kNone;
  int64_t elements = 1;
  for (const Json& size : *shape) {
    if (!size.is_number_integer()) return kNone;
    const auto length = size.get<int64_t>();
    if (length < 0 || (length > 0 && elements > kMostKeys / length)) return kNone;
    elements *= length;
  }
  return elements;
}

}  // namespace

std::vector<OwnedParameters> parameters_of_servers(const Json& lockstep, int servers) {
  const auto model = lockstep.find(top::model);
  if (servers < 1 || model == lockstep.end() || !model->is_object()) return {};
  const auto tensors = model->find("tensors");
  if (tensors == model->end() || !tensors->is_array()) return {};
  std::vector<std::string> names;
  std::vector<int64_t> elements;
  int64_t keys = 0;
  for (const Json& tensor : *tensors) {
    if (!tensor.is_object() || string_arg(tensor, "kind") != "parameter") continue;
    const int64_t own = elements_in_shape(tensor);
    if (own == kNone || keys > kMostKeys - own) return {};
    if (names.size() == kMostParameters) return {};
    names.push_back(string_arg(tensor, "name"));
    elements.push_back(own);
    keys += own;
  }
  if (names.empty()) return {};
  std::vector<OwnedParameters> owned;
  for (const plan::KeyRange& range : plan::key_ranges(keys, servers)) {
    OwnedParameters& own = owned.emplace_back();
    for (const plan::Piece& piece : plan::pieces_of(range, elements)) {
      own.push_back(
          {names[piece.tensor], piece.begin, piece.length, elements[piece.tensor]});
    }
  }
  return owned;
}

std::string owned_words(const OwnedParameter& owned) {
  if (owned.is_whole()) return owned.name;
  return fmt::format("{}[{}:{}]", owned.name, owned.begin, owned.end());
}

std::string owned_words(const OwnedParameters& owned) {
  if (owned.empty()) return "no parameter";
  if (owned.size() == 1) return owned_words(owned.front());
  return owned_words(owned.front()) + " to " + owned_words(owned.back());
}

std::string server_keys_text(const Trace& trace, int servers) {
  std::string text;
  const auto all = parameters_of_servers(trace.lockstep, servers);
  for (size_t server = 0; server < all.size(); ++server) {
    text += fmt::format("  server {} owns {}\n", server, owned_words(all[server]));
  }
  return text;
}

Json server_keys_json(const Trace& trace, int servers) {
  Json all = Json::array();
  for (const OwnedParameters& owned : parameters_of_servers(trace.lockstep, servers)) {
    Json& own = all.emplace_back(Json::array());
    for (const OwnedParameter& part : owned) {
      own.push_back({{"name", part.name}, {"begin", part.begin}, {"end", part.end()}});
    }
  }
  return all;
}

}  // namespace lockstep::tracer
