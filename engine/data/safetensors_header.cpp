#include "engine/data/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

namespace lockstep::data {
namespace {

using Json = nlohmann::json;

constexpr const char* kMetadata = "__metadata__";

// Quotes and escapes a tensor's name, so that any name stays on one line.
std::string quoted(const std::string& name) {
  return Json(name).dump(-1, ' ', true, Json::error_handler_t::replace);
}

// Returns the size of an element; 0 for a dtype that the engine does not support.
uint64_t item_size(const std::string& dtype) {
  if (dtype == "F32") return 4;
  if (dtype == "F64" || dtype == "I64") return 8;
  return 0;
}

// Returns what is wrong with a tensor of `bytes` bytes, or an empty string.
std::string complaint(const TensorFileEntry& entry, uint64_t bytes) {
  uint64_t expected = item_size(entry.dtype);
  if (expected == 0) {
    return fmt::format("tensor {} has dtype {}; fix: convert it to F32, F64 or I64",
                       quoted(entry.name), quoted(entry.dtype));
  }
  bool fits = true;
  for (const int64_t size : entry.shape) {
    fits = fits && size >= 0 && !__builtin_mul_overflow(expected, size, &expected);
  }
  if (fits && expected == bytes) return "";
  return fmt::format("tensor {} has {} bytes, which does not match {} of shape {:.100}",
                     quoted(entry.name), bytes, entry.dtype, Json(entry.shape).dump());
}

[[noreturn]] void refuse_header(const std::string& file, const std::string& what) {
  throw std::runtime_error(
      fmt::format("{}: {}; fix: export the weights again as safetensors", file, what));
}

struct Header {
  Json json;
  std::vector<std::string> names;  // in the file's order, which Json does not keep
};

Header parse_json(const std::string& text, const std::string& file) {
  Header header;
  std::set<std::string> seen;
  auto note_names = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth != 1 || event != Json::parse_event_t::key) return true;
    const auto& name = parsed.get_ref<const std::string&>();
    if (!seen.insert(name).second)
      refuse_header(file, "two tensors are named " + quoted(name));
    if (name != kMetadata) header.names.push_back(name);
    return true;
  };
  try {
    header.json = Json::parse(text, note_names);
  } catch (const Json::exception& error) {
    refuse_header(file, fmt::format("the header is not JSON ({:.150})", error.what()));
  }
  if (!header.json.is_object()) refuse_header(file, "the header is not a JSON object");
  return header;
}

TensorPlace parse_place(const std::string& name, const Json& json,
                        const std::string& file) {
  auto is_size = [](const Json& number) {
    return number.is_number_unsigned() && number.get<uint64_t>() <= INT64_MAX;
  };
  auto are_sizes = [&](const char* key) {
    return json.contains(key) && json[key].is_array() &&
           std::all_of(json[key].begin(), json[key].end(), is_size);
  };
  auto refuse = [&](const char* why) {
    refuse_header(file, fmt::format("tensor {} {}", quoted(name), why));
  };
  if (!json.is_object()) refuse("is not described by a JSON object");
  if (!json.contains("dtype") || !json["dtype"].is_string()) refuse("has no dtype");
  if (!are_sizes("shape")) refuse("has no integer shape");
  if (!are_sizes("data_offsets") || json["data_offsets"].size() != 2) {
    refuse("has no data_offsets [begin, end]");
  }
  const Json& offsets = json["data_offsets"];
  TensorPlace place{{name, json["dtype"], json["shape"], {}}, offsets[0], offsets[1]};
  if (place.begin > place.end) refuse("ends before it begins");
  const std::string wrong = complaint(place.entry, place.end - place.begin);
  if (!wrong.empty()) refuse_header(file, wrong);
  return place;
}

// Checks that every byte of the data belongs to exactly one tensor.
void check_tiling(const std::vector<TensorPlace>& places, uint64_t data_size,
                  const std::string& file) {
  std::vector<const TensorPlace*> sorted;
  for (const TensorPlace& place : places) sorted.push_back(&place);
  std::sort(sorted.begin(), sorted.end(), [](auto* a, auto* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  uint64_t covered = 0;
  for (const TensorPlace* place : sorted) {
    const std::string name = quoted(place->entry.name);
    if (place->end > data_size) {
      refuse_header(
          file, fmt::format("tensor {} ends at byte {} of {}: the file is truncated",
                            name, place->end, data_size));
    }
    if (place->begin < covered) {
      refuse_header(file, fmt::format("tensor {} overlaps the one before it", name));
    }
    if (place->begin > covered) {
      refuse_header(file, fmt::format("there is a gap before tensor {}", name));
    }
    covered = place->end;
  }
  if (covered != data_size) {
    refuse_header(file,
                  fmt::format("{} bytes belong to no tensor", data_size - covered));
  }
}

void parse_metadata(const Json& header, const std::string& file, Metadata* metadata) {
  if (metadata) metadata->clear();
  if (!header.contains(kMetadata)) return;
  const Json& json = header[kMetadata];
  auto is_text = [](const Json& value) { return value.is_string(); };
  if (!json.is_object() || !std::all_of(json.begin(), json.end(), is_text)) {
    refuse_header(file, "__metadata__ is not an object whose values are strings");
  }
  if (metadata) *metadata = json.get<Metadata>();
}

}  // namespace

std::vector<TensorPlace> parse_safetensors_header(const std::string& text,
                                                  uint64_t data_size,
                                                  const std::string& file,
                                                  Metadata* metadata) {
  const Header header = parse_json(text, file);
  parse_metadata(header.json, file, metadata);
  std::vector<TensorPlace> places;
  for (const std::string& name : header.names) {
    places.push_back(parse_place(name, header.json[name], file));
  }
  check_tiling(places, data_size, file);
  return places;
}

std::string format_safetensors_header(const std::vector<TensorFileEntry>& entries,
                                      const Metadata& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[kMetadata] = metadata;
  uint64_t begin = 0;
  for (const TensorFileEntry& entry : entries) {
    const std::string wrong = complaint(entry, entry.data.size());
    if (!wrong.empty()) throw std::runtime_error(wrong);
    if (entry.name == kMetadata || header.contains(entry.name)) {
      throw std::runtime_error(fmt::format("duplicate name {}", quoted(entry.name)));
    }
    const uint64_t end = begin + entry.data.size();
    header[entry.name] = {
        {"dtype", entry.dtype}, {"shape", entry.shape}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  try {
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');
    return text;
  } catch (const Json::exception&) {
    throw std::runtime_error("a tensor's name or the metadata is not UTF-8");
  }
}

}  // namespace lockstep::data
