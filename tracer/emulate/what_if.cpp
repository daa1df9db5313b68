#include "tracer/emulate/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "tracer/analysis/steps.h"
#include "tracer/emulate/construct/recorded_step.h"
#include "tracer/emulate/symmetric/symmetric_ddp.h"

namespace lockstep::tracer {

namespace {

[[noreturn]] void wrong(std::string_view option, const std::string& why) {
  throw std::invalid_argument(fmt::format("{}: {}", option, why));
}

double number_in(std::string_view option, std::string_view word, double least,
                 double most, bool whole) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(word.data(), word.data() + word.size(), value);
  const bool parsed = error == std::errc() && end == word.data() + word.size();
  const bool fits = parsed && std::isfinite(value) && value >= least && value <= most &&
                    (!whole || value == std::floor(value));
  if (fits) return value;
  wrong(option, fmt::format("'{}' is not a {}number from {:g} to {:g}", word,
                            whole ? "whole " : "", least, most));
}

/// An option of `emulate` that a question may have.
struct WhatIfOption {
  const char* name;
  bool needs_mode;
  void (*set)(WhatIf&, std::string_view option, std::string_view word);
  std::string (*text)(const WhatIf&);
};

std::string one_of(std::string_view option, std::string_view word,
                   std::initializer_list<std::string_view> choices) {
  if (std::ranges::find(choices, word) != choices.end()) return std::string(word);
  wrong(option, fmt::format("'{}' is not one of {}", word, fmt::join(choices, ", ")));
}

/// Other modes that `emulate` knows have options that no slider sets.
std::string mode_of(std::string_view option, std::string_view word) {
  const auto known = {"dp-criterion", "dp-features", "model-parallel", "ps"};
  if (std::ranges::find(known, word) == known.end()) {
    return one_of(option, word, {"dp", "ddp"});
  }
  wrong(option, fmt::format("there are no sliders for {0}; fix: open the trace that "
                            "`emulate --mode {0} -o FILE` writes",
                            word));
}

constexpr double kLeastRate = 1e-6, kMostRate = 1e6;

const std::vector<WhatIfOption>& what_if_table() {
  using Word = std::string_view;
  static const std::vector<WhatIfOption> all{
      {"--mode", false, [](WhatIf& w, Word o, Word x) { w.mode = mode_of(o, x); },
       [](const WhatIf& w) { return w.mode; }},
      {"--devices", true,
       [](WhatIf& w, Word o, Word x) {
         w.devices = static_cast<int>(number_in(o, x, 1, kMostRanks, true));
       },
       [](const WhatIf& w) { return fmt::format("{}", w.devices); }},
      {"--batch-size", true,
       [](WhatIf& w, Word o, Word x) {
         w.batch = static_cast<int64_t>(number_in(o, x, 1, 1 << 30, true));
       },
       [](const WhatIf& w) { return fmt::format("{}", w.batch); }},
      {"--bucket-cap-mb", true,
       [](WhatIf& w, Word o, Word x) {
         w.bucket_cap_mb = static_cast<int>(number_in(o, x, 1, 1 << 20, true));
       },
       [](const WhatIf& w) { return fmt::format("{}", w.bucket_cap_mb); }},
      {"--first-bucket-mb", true,
       [](WhatIf& w, Word o, Word x) {
         w.first_bucket_mb = static_cast<int>(number_in(o, x, 1, 1 << 20, true));
       },
       [](const WhatIf& w) { return fmt::format("{}", w.first_bucket_mb); }},
      {"--all-reduce", true,
       [](WhatIf& w, Word o, Word x) { w.all_reduce = one_of(o, x, {"ring", "tree"}); },
       [](const WhatIf& w) { return w.all_reduce; }},
      {"--hardware", false,
       [](WhatIf& w, Word, Word x) { w.hardware = std::string(x); },
       [](const WhatIf& w) { return w.hardware; }},
      {"--link-gb-per-s", false,
       [](WhatIf& w, Word o, Word x) {
         w.link.gb_per_s = number_in(o, x, kLeastRate, kMostRate, false);
       },
       [](const WhatIf& w) { return fmt::format("{}", w.link.gb_per_s); }},
      {"--link-latency-us", false,
       [](WhatIf& w, Word o, Word x) {
         w.link.latency_us = number_in(o, x, 0, kMostRate, false);
       },
       [](const WhatIf& w) { return fmt::format("{}", w.link.latency_us); }},
      {"--compute-scale", false,
       [](WhatIf& w, Word o, Word x) {
         w.compute_scale = number_in(o, x, kLeastRate, kMostRate, false);
       },
       [](const WhatIf& w) { return fmt::format("{}", w.compute_scale); }},
      {"--host-scale", false,
       [](WhatIf& w, Word o, Word x) {
         w.host_scale = number_in(o, x, kLeastRate, kMostRate, false);
       },
       [](const WhatIf& w) { return fmt::format("{}", w.host_scale); }},
      {"--interference", false,
       [](WhatIf& w, Word o, Word x) {
         w.interference = number_in(o, x, 1, 100, false);
       },
       [](const WhatIf& w) {
         return w.interference ? fmt::format("{}", *w.interference) : "";
       }}};
  return all;
}

std::vector<std::string_view> option_words(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const size_t begin = text.find_first_not_of(" \t\n=");
    if (begin == text.npos) return words;
    const size_t end = std::min(text.find_first_of(" \t\n=", begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
}

void require_consistent(const WhatIf& question, std::string_view given,
                        bool needs_mode) {
  if (needs_mode && question.mode.empty()) {
    wrong(given, "this is an option of a constructed program; fix: add --mode ddp");
  }
  const bool linked = question.link.gb_per_s != Link{}.gb_per_s ||
                      question.link.latency_us != Link{}.latency_us;
  if (linked && !question.hardware.empty()) {
    wrong("--hardware", "it has links of its own; fix: leave out --link-…");
  }
}

}  // namespace

std::string what_if_options(const WhatIf& question) {
  WhatIf plain;
  std::string text;
  for (const WhatIfOption& option : what_if_table()) {
    if (option.needs_mode && question.mode.empty()) continue;
    const std::string value = option.text(question);
    const bool tells =
        value != option.text(plain) || std::string_view(option.name) == "--devices";
    const bool linked = std::string_view(option.name).starts_with("--link-");
    if (!tells || value.empty() || (linked && !question.hardware.empty())) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : " ", option.name, value);
  }
  return text;
}

WhatIf parse_what_if(std::string_view text) {
  WhatIf question;
  const std::vector<std::string_view> words = option_words(text);
  std::string_view constructs;
  for (size_t i = 0; i < words.size(); i += 2) {
    const std::string_view name = words[i] == "-b" ? "--batch-size" : words[i];
    const auto& all = what_if_table();
    const auto option = std::ranges::find_if(
        all, [&](const WhatIfOption& known) { return name == known.name; });
    if (option == all.end()) {
      std::string names;
      for (const WhatIfOption& known : all) {
        names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
      }
      wrong(words[i], "unknown; fix: use " + names);
    }
    if (i + 1 == words.size()) wrong(words[i], "a value is missing");
    option->set(question, words[i], words[i + 1]);
    if (option->needs_mode && constructs.empty()) constructs = words[i];
  }
  require_consistent(question, constructs, !constructs.empty());
  return question;
}

struct WhatIfAnswers::Kept {
  Trace recorded;
  std::vector<Trace> further;
  std::vector<Hardware> profiles;
  std::vector<int64_t> batches;
  int64_t batch = 0;
  std::string why_not;
  int64_t step = 0;
  /// The last program without messages: most sliders do not change it.
  std::optional<SymmetricDdp> symmetric;
  std::string symmetric_of;

  const Hardware* hardware(const std::string& name) const {
    if (name.empty()) return nullptr;
    const auto found = std::ranges::find(profiles, name, &Hardware::name);
    if (found != profiles.end()) return &*found;
    throw std::runtime_error("there is no hardware profile '" + name + "'");
  }

  ConstructedProgram program(const WhatIf& question) const {
    ConstructedProgram program;
    program.mode = question.mode;
    program.devices = question.devices;
    program.batch = question.batch;
    program.bucket_cap = int64_t{question.bucket_cap_mb} << 20;
    program.first_bucket = int64_t{question.first_bucket_mb} << 20;
    program.all_reduce = question.all_reduce;
    program.hardware = hardware(question.hardware);
    for (const Trace& trace : further) program.further.push_back(&trace);
    return program;
  }

  EmulateOptions options(const WhatIf& question) const {
    EmulateOptions options;
    options.link = question.link;
    options.hardware = hardware(question.hardware);
    if (options.hardware) options.interference = options.hardware->interference;
    if (question.interference) options.interference = *question.interference;
    options.compute_scale = question.compute_scale;
    options.host_scale = question.host_scale;
    return options;
  }

  const SymmetricDdp& symmetric_ddp(const WhatIf& question) {
    WhatIf program_only;
    program_only.mode = question.mode;
    program_only.devices = question.devices;
    program_only.batch = question.batch;
    program_only.bucket_cap_mb = question.bucket_cap_mb;
    program_only.first_bucket_mb = question.first_bucket_mb;
    program_only.all_reduce = question.all_reduce;
    std::string key = what_if_options(program_only);
    if (!symmetric || key != symmetric_of) {
      symmetric.reset();
      symmetric.emplace(recorded, program(question));
      symmetric_of = std::move(key);
    }
    return *symmetric;
  }
};

WhatIfAnswers::WhatIfAnswers(Trace recorded, std::vector<Trace> further,
                             std::vector<Hardware> profiles)
    : kept_(std::make_unique<Kept>()) {
  kept_->recorded = std::move(recorded);
  kept_->profiles = std::move(profiles);
  const auto steps = join_ranks(find_steps(kept_->recorded));
  if (!steps.empty()) kept_->step = steps.front().length();
  try {
    const RecordedStep repeated = tracer::recorded_step(kept_->recorded);
    kept_->batch = repeated.batch;
    kept_->batches.push_back(repeated.batch);
    for (const Step& step : steps) {
      if (step.number == repeated.number) kept_->step = step.length();
    }
  } catch (const std::runtime_error& error) {
    kept_->why_not = error.what();
    return;
  }
  const std::string arch = string_arg(kept_->recorded.lockstep, top::arch);
  for (Trace& trace : further) {
    if (string_arg(trace.lockstep, top::arch) != arch) continue;
    try {
      kept_->batches.push_back(tracer::recorded_step(trace).batch);
      kept_->further.push_back(std::move(trace));
    } catch (const std::runtime_error&) {
      // It is open beside the recording, but says nothing about another batch.
    }
  }
  std::ranges::sort(kept_->batches);
}
WhatIfAnswers::~WhatIfAnswers() = default;
WhatIfAnswers::WhatIfAnswers(WhatIfAnswers&&) noexcept = default;

const Trace& WhatIfAnswers::recorded() const { return kept_->recorded; }
const std::vector<int64_t>& WhatIfAnswers::batches() const { return kept_->batches; }
int64_t WhatIfAnswers::batch() const { return kept_->batch; }
const std::string& WhatIfAnswers::why_not_constructed() const { return kept_->why_not; }
int64_t WhatIfAnswers::recorded_step() const { return kept_->step; }

std::optional<int64_t> WhatIfAnswers::step(const WhatIf& question) {
  const bool symmetric =
      question.mode == "ddp" &&
      needs_messages(kept_->program(question), kept_->options(question)) == nullptr;
  if (!symmetric) return std::nullopt;
  const SymmetricStep step =
      kept_->symmetric_ddp(question).retime(kept_->options(question));
  if (!step.exact) return std::nullopt;
  return step.length;
}

Trace WhatIfAnswers::answer(const WhatIf& question) {
  if (question.mode.empty()) {
    return emulate(kept_->recorded, kept_->options(question));
  }
  if (question.mode == "ddp" && question.devices > kMostDevices) {
    require_messages_possible(kept_->program(question), kept_->options(question));
    return kept_->symmetric_ddp(question).representatives(
        kept_->options(question), representatives_of(question.devices));
  }
  return emulate(construct(kept_->recorded, kept_->program(question)),
                 kept_->options(question));
}

}  // namespace lockstep::tracer
