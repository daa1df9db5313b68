#include "gui/app/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/program.h"
#include "gui/model/details.h"
#include "tracer/analysis/steps.h"
#include "tracer/format/file_io.h"
#include "tracer/kineto/kineto.h"

namespace lockstep::gui {

namespace {

tracer::Trace read(const WhySource& source) {
  return tracer::open_text({source.text, source.owned}, source.name);
}

Provenance provenance_of(const tracer::Json& lockstep) {
  if (lockstep.contains(top::constructed)) return Provenance::constructed;
  return tracer::string_arg(lockstep, top::clock) == tracer::values::emulated
             ? Provenance::emulated
             : Provenance::recorded;
}

/// Gives the ranks and devices of the model their numbers among all.
void number_representatives(Model& model, const tracer::Trace& trace) {
  const auto& facts = trace.lockstep[top::constructed];
  model.represented = facts["representatives"].get<std::vector<int>>();
  model.all_represented = facts["devices"].get<int>();
  for (Device& device : model.devices) {
    device.id = model.number_of(device.rank);
  }
}

bool has_representatives(const tracer::Trace& trace) {
  const auto facts = trace.lockstep.find(top::constructed);
  return facts != trace.lockstep.end() && facts->contains("representatives");
}

/// Returns whether a trace may be of the recording's program, with another batch.
bool may_have_another_batch(const Model& recorded, const Model& other) {
  return other.devices.size() == 1 &&
         other.meta_text(top::arch) == recorded.meta_text(top::arch);
}

/// Returns the index of the recorded step that an emulated one is compared with: the
/// same one if all were re-timed, else the one that was repeated.
size_t compared_step(const WhatIfPanel& panel, const OpenTrace& recorded, size_t step) {
  const auto& steps = recorded.model->steps;
  const bool all = panel.answered && panel.answered->mode.empty();
  if (all && step < steps.size()) return step;
  const auto same = std::ranges::find(steps, panel.recorded_step, &Step::length);
  return same == steps.end() ? 0 : static_cast<size_t>(same - steps.begin());
}

void place_ghost(WhatIfPanel& panel, const OpenTrace& recorded,
                 const OpenTrace& emulated) {
  panel.ghost_step = emulated.state.step;
  panel.ghost =
      ghost_of(*recorded.model, compared_step(panel, recorded, panel.ghost_step),
               *emulated.model);
}

/// Keeps the part of the time that the timeline shows, counted from the step's begin.
void keep_view(const OpenTrace& from, OpenTrace& to) {
  const TimelineView& view = from.timeline;
  if (view.from == view.to || to.model->steps.empty()) return;
  const Step& own = from.model->steps[from.state.step];
  const Step& theirs =
      to.model->steps[std::min(to.state.step, to.model->steps.size() - 1)];
  const auto shift = static_cast<double>(theirs.begin - own.begin);
  to.timeline.from = view.from + shift;
  to.timeline.to = view.to + shift;
  to.timeline.open = view.open;
  to.timeline.follow = false;
}

/// Shows the step and its ghost, unless that is more than three times as long.
void show_both(OpenTrace& trace, const Ghost& ghost) {
  const Step& step = trace.model->steps[trace.state.step];
  const int64_t most = ghost.length > 3 * step.length
                           ? step.length
                           : std::max(step.length, ghost.length);
  trace.model->length = std::max(trace.model->length, step.begin + most);
  const double margin = static_cast<double>(most) * 0.02;
  trace.timeline.from = static_cast<double>(step.begin) - margin;
  trace.timeline.to = static_cast<double>(step.begin + most) + margin;
  trace.timeline.follow = false;
}

void swap_traces(App& app) {
  WhatIfPanel& panel = *app.what_if;
  OpenTrace& shown = app.trace();
  OpenTrace& next = *panel.other;
  const Position there = aligned(*shown.model, shown.position, *next.model);
  std::swap(shown, next);
  panel.emulated = !panel.emulated;
  app.settings.transport.playing = false;
  app.settings.editing = -1;
  app.go(there);
}

void require_panel(App& app) {
  if (app.what_if == nullptr) app.what_if = std::make_shared<WhatIfPanel>();
}

}  // namespace

WhatIfLab::WhatIfLab(WhatIfSource source) : source_(std::move(source)) {}
WhatIfLab::~WhatIfLab() = default;

WhatIfReply WhatIfLab::begin(const std::optional<tracer::WhatIf>& question) {
  if (answers_ == nullptr) {
    tracer::Trace recorded = read(source_.recorded);
    std::vector<tracer::Trace> further;
    for (const WhySource& source : source_.further) further.push_back(read(source));
    answers_ = std::make_unique<tracer::WhatIfAnswers>(
        std::move(recorded), std::move(further), source_.profiles);
  }
  WhatIfReply reply;
  reply.text = text();
  const tracer::Json& facts = answers_->recorded().lockstep;
  const auto devices = facts.find(tracer::top::devices);
  reply.room.provenance = provenance_of(facts);
  reply.room.mode = tracer::string_arg(facts, top::mode);
  reply.room.devices =
      devices == facts.end() ? 1 : std::max(1, static_cast<int>(devices->size()));
  reply.room.batches = answers_->batches();
  reply.room.batch = answers_->batch();
  reply.room.why_not = answers_->why_not_constructed();
  for (const auto& profile : source_.profiles) {
    reply.room.profiles.push_back(profile.name);
  }
  reply.recorded_step = answers_->recorded_step();
  reply.question = question ? *question : first_question(reply.room);
  return reply;
}

/// Returns the step of one emulated device that trains one device's share, without
/// DDP's buckets. It has no collectives.
std::optional<int64_t> WhatIfLab::step_alone(tracer::WhatIf question) {
  if (question.mode.empty()) return {};
  if (question.batch > 0) question.batch /= std::max(1, question.devices);
  question.devices = 1;
  question.mode = "dp";       // which calls the network, if there is one device
  question.hardware.clear();  // of its links only the host's would count
  question.all_reduce.clear();
  question.interference.reset();
  try {
    return join_ranks(find_steps(answers_->answer(question))).at(0).length();
  } catch (const std::runtime_error&) {
    return {};  // the question itself may have an answer
  }
}

int64_t WhatIfLab::length_of(const tracer::WhatIf& question) {
  if (const auto step = answers_->step(question)) return *step;
  return join_ranks(find_steps(answers_->answer(question))).at(0).length();
}

/// Returns what the question's links change in its first step, of `step` ns.
LinkEffect WhatIfLab::effect_of_links(tracer::WhatIf question, int64_t step) {
  tracer::WhatIf plain = question;
  plain.link = {};
  plain.hardware.clear();
  if (plain == question) return {};
  LinkEffect effect{length_of(plain), step};
  if (effect.is_little() && question.compute_scale < kFasterDevices) {
    plain.compute_scale = question.compute_scale = kFasterDevices;
    effect.fast_before = length_of(plain);
    effect.fast_after = length_of(question);
  }
  return effect;
}

/// Returns the steps of the recorded program with the default links and speeds.
const std::vector<int64_t>& WhatIfLab::default_steps() {
  if (defaults_.empty()) {
    const tracer::Trace trace = answers_->answer({});
    for (const tracer::Step& step : join_ranks(find_steps(trace))) {
      defaults_.push_back(step.length());
    }
  }
  return defaults_;
}

WhatIfReply WhatIfLab::step(const std::optional<tracer::WhatIf>& question) {
  WhatIfReply reply;
  try {
    reply = begin(question);
    reply.step = answers_->step(reply.question);
  } catch (const std::exception& failure) {
    reply.text = text();
    reply.problem = failure.what();
  }
  return reply;
}

WhatIfReply WhatIfLab::answer(const std::optional<tracer::WhatIf>& question) {
  WhatIfReply reply;
  try {
    reply = begin(question);
    const tracer::Trace trace = answers_->answer(reply.question);
    reply.step = answers_->step(reply.question);
    if (!reply.step) reply.step = join_ranks(find_steps(trace)).at(0).length();
    reply.alone = step_alone(reply.question);
    if (reply.question.mode.empty()) reply.defaults = default_steps();
    reply.links = effect_of_links(reply.question, *reply.step);
    Model model = load_model(source_.recorded.name, tracer::trace_text(trace));
    const bool analysed = model.events.size() > kAnalysedAtOnce;
    reply.trace = std::make_shared<OpenTrace>(opened_trace(std::move(model)));
    if (has_representatives(trace)) {
      reply.trace->verdict = {};
      reply.trace->verdict.why = "some ranks represent the others, without messages";
      number_representatives(*reply.trace->model, trace);
      reply.trace->model->problems.clear();
    }
    const Model& own = *reply.trace->model;
    reply.gaps = gaps_of(own, tracer::find_bindings(trace));
    if (analysed) {
      reply.trace->why = placed(own, analyse(why_source(own)));
    }
  } catch (const std::exception& failure) {
    reply.text = text();
    reply.problem = failure.what();
  }
  return reply;
}

void leave_what_if(App& app) {
  if (app.what_if == nullptr) return;
  WhatIfPanel& panel = *app.what_if;
  if (panel.emulated && panel.at < app.traces().size()) {
    std::swap(app.traces()[panel.at], *panel.other);
  }
  std::vector<tracer::Hardware> profiles = std::move(panel.profiles);
  panel = WhatIfPanel();
  panel.profiles = std::move(profiles);
}

void open_what_if(App& app, std::optional<tracer::WhatIf> question) {
  if (!app.has_trace()) return;
  require_panel(app);
  WhatIfPanel& panel = *app.what_if;
  app.settings.drawer = Drawer::sliders;
  app.settings.compare = false;
  if (panel.text == nullptr || panel.at != app.current()) {
    leave_what_if(app);
    panel.text = app.trace().model->text.data();
    panel.at = app.current();
  }
  if (question) panel.question = question;
}

void ask(App& app, const tracer::WhatIf& question) {
  if (app.what_if == nullptr) return;
  app.what_if->question = question;
  if (!shows_emulated(app)) app.what_if->wanted = true;
}

const OpenTrace& recorded_of(const App& app) {
  const WhatIfPanel& panel = *app.what_if;
  return panel.emulated ? *panel.other : app.traces()[panel.at];
}

bool shows_emulated(const App& app) {
  const WhatIfPanel* panel = app.what_if.get();
  return panel != nullptr && panel->emulated && panel->at == app.current();
}

void toggle_emulated(App& app) {
  if (app.what_if == nullptr || !app.what_if->other) return open_what_if(app);
  WhatIfPanel& panel = *app.what_if;
  if (app.current() != panel.at) return open_what_if(app);
  panel.wanted = false;
  swap_traces(app);
}

const WhatIfPanel* awaits_what_if(App& app, bool whole) {
  const WhatIfPanel* panel = app.what_if.get();
  if (panel == nullptr || panel->text == nullptr || !app.has_trace()) return nullptr;
  if (app.current() != panel->at) return nullptr;
  const auto& last = whole ? panel->answered : panel->step_of;
  if (last && last == panel->question) return nullptr;
  return panel;
}

WhatIfSource what_if_source(App& app) {
  const WhatIfPanel& panel = *app.what_if;
  const OpenTrace& recorded = recorded_of(app);
  WhatIfSource source{why_source(*recorded.model), {}, panel.profiles};
  for (size_t i = 0; i < app.traces().size(); ++i) {
    if (i == panel.at) continue;
    source.further.push_back(why_source(*app.traces()[i].model));
  }
  return source;
}

void take_what_if(App& app, WhatIfReply reply) {
  WhatIfPanel* panel = app.what_if.get();
  if (panel == nullptr || reply.text != panel->text || panel->at != app.current()) {
    return;
  }
  if (!panel->question) panel->question = reply.question;
  const bool latest = reply.question == *panel->question;
  if (reply.problem.empty()) {
    panel->room = std::move(reply.room);
    panel->recorded_step = reply.recorded_step;
  } else {
    reply.question = *panel->question;
  }
  if (reply.step && latest) {
    panel->step = reply.step;
    panel->alone = reply.alone;
    panel->step_for = reply.question;
  }
  panel->step_of = reply.question;
  if (reply.trace == nullptr && reply.problem.empty()) return;
  panel->answered = reply.question;
  panel->defaults = std::move(reply.defaults);
  panel->links = reply.links;
  panel->problem = std::move(reply.problem);
  if (reply.trace == nullptr) return;
  OpenTrace next = std::move(*reply.trace);
  OpenTrace& shown = app.trace();
  panel->gaps = std::move(reply.gaps);
  const Position there = aligned(*shown.model, shown.position, *next.model);
  next.state = state_at(*next.model, there);
  place_ghost(*panel, recorded_of(app), next);
  const bool first = !panel->emulated;
  if (panel->emulated) {
    show_both(next, panel->ghost);
    keep_view(shown, next);
    shown = std::move(next);
    app.go(there);
  } else {
    panel->other = std::move(next);
    if (panel->wanted) swap_traces(app);
  }
  if (first && panel->emulated) show_both(app.trace(), panel->ghost);
}

void follow_step(App& app) {
  if (!shows_emulated(app)) return;
  WhatIfPanel& panel = *app.what_if;
  OpenTrace& shown = app.trace();
  if (panel.ghost_step == shown.state.step) return;
  place_ghost(panel, *panel.other, shown);
  show_both(shown, panel.ghost);
}

WhatIfTimes step_times(const App& app) {
  const WhatIfPanel& panel = *app.what_if;
  const WhatIfTimes first{panel.step.value_or(0), panel.recorded_step,
                          panel.alone.value_or(0), 0};
  if (!panel.other || panel.answered != panel.question) return first;
  if (!panel.question->mode.empty()) return first;
  const OpenTrace& shown = app.traces()[panel.at];
  const auto& recorded = recorded_of(app).model->steps;
  const auto& emulated = (panel.emulated ? shown : *panel.other).model->steps;
  const size_t step = shown.state.step;
  if (step >= emulated.size() || step >= recorded.size()) return first;
  const bool same = *panel.question == tracer::WhatIf();
  const bool known = !same && step < panel.defaults.size();
  return {emulated[step].length, recorded[step].length, 0,
          known ? panel.defaults[step] : 0};
}

std::string what_if_command(const App& app) {
  const WhatIfPanel& panel = *app.what_if;
  if (!panel.question) return "";
  const Model& recorded = *recorded_of(app).model;
  std::string files = shell_word(recorded.name);
  for (size_t i = 0; i < app.traces().size() && panel.question->batch > 0; ++i) {
    const Model& other = *app.traces()[i].model;
    if (i == panel.at || !may_have_another_batch(recorded, other)) continue;
    files += " " + shell_word(other.name);
  }
  const std::string options = tracer::what_if_options(*panel.question);
  return fmt::format("./lockstep emulate {}{}{}", files, options.empty() ? "" : " ",
                     options);
}

}  // namespace lockstep::gui
