#include "gui/model/details.h"

#include <algorithm>

#include "tracer/format/processor.h"

namespace lockstep::gui {

std::string_view object_at(std::string_view text, size_t open) {
  constexpr size_t kMaxObject = size_t{1} << 20;
  if (open >= text.size()) return {};
  size_t depth = 0;
  bool quoted = false;
  const size_t end = std::min(text.size(), open + kMaxObject);
  for (size_t i = open; i < end; ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (++depth > 64) return {};
    } else if (c == '}' || c == ']') {
      if (--depth == 0) return text.substr(open, i + 1 - open);
    }
  }
  return {};
}

tracer::Json json_of(const Model& model, const Event& event) {
  tracer::Json json =
      tracer::Json::parse(object_at(model.text, event.text), nullptr, false);
  return json.is_object() ? json : tracer::Json::object();
}

tracer::Json args_of(const Model& model, const Event& event) {
  tracer::Json json = json_of(model, event);
  const auto args = json.find("args");
  return args != json.end() && args->is_object() ? *args : tracer::Json::object();
}

namespace {

std::string in_brackets(const tracer::Json& list, int depth) {
  if (!list.is_array() || depth > 4) return list.dump();
  std::string text = "[";
  for (const tracer::Json& entry : list) {
    if (text.size() > 1) text += ", ";
    text += in_brackets(entry, depth + 1);
    if (text.size() > 200) return text + " …";
  }
  return text + "]";
}

}  // namespace

std::string shape_arg(const tracer::Json& args, const char* key) {
  const auto found = args.find(key);
  return found != args.end() && found->is_array() ? in_brackets(*found, 0) : "";
}

const tracer::Json& meta_of(const Model& model) {
  static const tracer::Json none = tracer::Json::object();
  return model.meta ? *model.meta : none;
}

bool is_ours(const Model& model) {
  const tracer::Json& meta = meta_of(model);
  return meta.contains(top::format) && !meta.contains(top::imported);
}

bool on_gpus(const Model& model) {
  return !model.devices.empty() && tracer::is_gpu(model.devices[0].name);
}

const char* processor_words(const Model& model) {
  return on_gpus(model) ? "the GPU" : "a core";
}

bool is_memory_task(const Model& model, const Event& event) {
  if (event.what() != Kind::kernel) return false;
  const std::string& name = model.name_of(event);
  return name.starts_with("Memcpy ") || name.starts_with("Memset ");
}

const std::string* source_of(const Model& model, const std::string& file) {
  const auto sources = meta_of(model).find(top::sources);
  if (sources == meta_of(model).end() || !sources->is_object()) return nullptr;
  const auto found = sources->find(file);
  if (found == sources->end() || !found->is_string()) return nullptr;
  return found->get_ptr<const std::string*>();
}

}  // namespace lockstep::gui
