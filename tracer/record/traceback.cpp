#include "tracer/record/traceback.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "tracer/record/collect.h"

namespace lockstep::tracer {
namespace {

std::vector<Frame>& open_frames() {
  thread_local std::vector<Frame> frames;
  return frames;
}

/// Returns "VGG.forward" for "virtual Tensor lockstep::models::VGG::forward(…)".
std::string short_name(std::string_view function) {
  constexpr std::string_view clangs = "(anonymous namespace)::";  // GCC writes braces
  const size_t bracket = function.find('(');
  if (bracket != function.npos && function.substr(bracket).starts_with(clangs)) {
    function.remove_prefix(bracket + clangs.size());
  }
  size_t end = function.find('(');
  const std::string_view call = "operator()";
  const size_t is_call = function.find(call);
  if (is_call < end) end = is_call + call.size();
  function = function.substr(0, end);
  function.remove_prefix(function.rfind(' ') + 1);
  const size_t last = function.rfind("::");
  if (last == function.npos) return std::string(function);
  std::string name(function.substr(last + 2));
  if (name == call) name = "__call__";
  if (name == "call_impl") name = "_call_impl";
  std::string_view type = function.substr(0, last);
  if (const size_t at = type.rfind("::"); at != type.npos) type.remove_prefix(at + 2);
  const bool is_type = std::isupper(static_cast<unsigned char>(type[0])) != 0;
  return is_type ? std::string(type) + "." + name : name;  // else a namespace
}

/// Returns true for a call that a module makes, or for the call of a module.
bool is_of_a_module(const Frame& frame) {
  const std::string name = short_name(frame.site.function_name());
  return *frame.module || name.ends_with(".forward") || name.ends_with("_call_impl");
}

int number_of(const Frame& frame) {
  return static_cast<int>(frame.site.line()) + frame.below;
}

/// Returns the line without the spaces around it; "" if the file is not embedded.
std::string_view line_of(const Frame& frame) {
  std::string_view text = source_text(frame.site.file_name());
  for (int line = 1; line < number_of(frame); ++line) {
    const size_t end = text.find('\n');
    if (end == text.npos) return {};
    text.remove_prefix(end + 1);
  }
  text = text.substr(0, text.find('\n'));
  const size_t first = text.find_first_not_of(' ');
  return first == text.npos ? std::string_view() : text.substr(first);
}

}  // namespace

CallSite::CallSite(const std::source_location& site, const char* module, int below)
    : site_(site), module_(module), below_(below) {
  if (exceptions_ == 0) open_frames().clear();  // of an exception caught earlier
}

CallSite::~CallSite() {
  if (std::uncaught_exceptions() > exceptions_) {
    open_frames().push_back({site_, below_, module_, {}});
  }
}

Traceback take_traceback() {
  const int64_t event = failed_event();
  set_failed_event(kNone);
  return {std::exchange(open_frames(), {}), event};
}

void continue_traceback(Traceback inner, std::string thread) {
  open_frames() = std::move(inner.frames);
  if (!open_frames().empty()) {
    open_frames().push_back({{}, 0, "", std::move(thread)});
  }
  set_failed_event(inner.event);
}

std::string traceback_text(const Traceback& traceback) {
  const std::vector<Frame>& frames = traceback.frames;
  if (std::none_of(frames.begin(), frames.end(), is_of_a_module)) return "";
  std::string text = "Traceback (most recent call last):\n";
  const char* module = "";  // of the function that contains the call
  for (size_t i = frames.size(); i-- > 0;) {
    const Frame& frame = frames[i];
    if (!frame.thread.empty()) {
      text += "  In " + frame.thread + ":\n";
      module = "";
      continue;
    }
    text += "  File \"" + std::string(frame.site.file_name()) + "\", line " +
            std::to_string(number_of(frame)) + ", in " +
            short_name(frame.site.function_name());
    if (*module) text += " (" + std::string(module) + ")";
    text += "\n";
    if (const auto line = line_of(frame); !line.empty()) {
      text += "    " + std::string(line) + "\n";
    }
    module = frame.module;
  }
  return text;
}

}  // namespace lockstep::tracer
