// The laws of pipelines (mode model-parallel): what the stages send each other, and the
// order of their actions.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "engine/plan/pipeline_times.h"
#include "tracer/analysis/judge.h"

namespace lockstep::tracer {
namespace {

constexpr std::string_view kModelParallel = "model-parallel";  ///< the mode
constexpr int64_t kMostMicroBatches = 1 << 20;

/// A step of a pipeline: the facts that it states, and the actions that it recorded.
class PipelineStep {
 public:
  explicit PipelineStep(const Step& step)
      : step(step),
        name(string_arg(step.event->args, keys::schedule)),
        micro_batches(int_arg(step.event->args, keys::micro_batches, kNone)) {
    for (const int64_t id : step.event->args.find(keys::stage_devices).integers()) {
      devices.push_back(id);
    }
    std::vector<int64_t> ranks = devices;
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    schedule.resize(ranks.size());
    for (const Event* phase : step.phases) {
      const auto action = action_of(*phase);
      if (!action || !in_range(action->stage)) continue;
      const int64_t device = devices[static_cast<size_t>(action->stage)];
      const auto rank = std::lower_bound(ranks.begin(), ranks.end(), device);
      schedule[static_cast<size_t>(rank - ranks.begin())].push_back(*action);
    }
  }

  bool stated() const {
    return !devices.empty() && micro_batches >= 1 &&
           micro_batches <= std::min(kMostMicroBatches, step.batch);
  }
  bool in_range(int64_t stage) const {
    return stage >= 0 && stage < static_cast<int64_t>(devices.size());
  }

  const Step& step;
  const std::string name;
  const int64_t micro_batches;
  std::vector<int64_t> devices;  ///< by stage
  plan::PipelineSchedule schedule;

  /// Returns the action that a phase says it is, if it is one.
  static std::optional<plan::PipelineAction> action_of(const Event& phase) {
    const std::string text(phase.args.find(keys::action).text());
    if (text.empty()) return {};
    try {
      const auto parsed = plan::parse_schedule(text);
      if (parsed.size() == 1 && parsed[0].size() == 1) return parsed[0][0];
    } catch (const std::invalid_argument&) {  // the schedule will lack this action
    }
    return {};
  }
};

/// Returns the schedule of this name; nothing if it is not one of ours, or does not
/// exist for these numbers (as in a smaller last batch, from which actions are left
/// out).
std::optional<plan::PipelineSchedule> named_schedule(const PipelineStep& pipeline) {
  using Order = plan::PipelineOrder;
  static const std::map<std::string_view, Order> kOrders{
      {"naive", Order::gpipe},
      {"gpipe", Order::gpipe},
      {"1f1b", Order::one_f_one_b},
      {"1f1b-eager", Order::eager_one_f_one_b},
      {"interleaved", Order::interleaved}};
  const auto order = kOrders.find(pipeline.name);
  const size_t ranks = pipeline.schedule.size(), stages = pipeline.devices.size();
  if (order == kOrders.end() || stages % ranks != 0) return {};
  try {
    return plan::pipeline_schedule(order->second, static_cast<int>(ranks),
                                   static_cast<int>(pipeline.micro_batches),
                                   static_cast<int>(stages / ranks));
  } catch (const std::invalid_argument&) {
    return {};
  }
}

/// What a micro-batch passes across the border before a stage.
struct Crossing {
  int64_t border, micro_batch;
  auto operator<=>(const Crossing&) const = default;
};

struct PipelineLaws {
  explicit PipelineLaws(TraceUnderTest& test)
      : facts(test.law("action-facts",
                       "an action names the stage and micro-batch of its event")),
        schedule(test.law_of_ranks(
            "schedule-valid",
            "every micro-batch passes every stage forward, then back")),
        order(test.law("schedule-order",
                       "each device runs the actions in the schedule's order")),
        live(test.law("live-micro-batches",
                      "no device holds more micro-batches than its schedule allows")),
        bytes(test.law_of_ranks(
            "activation-bytes",
            "each border passes on an activation and its gradient, of the "
            "same size, once per micro-batch")),
        inputs(test.law("images-h2d-of-stages",
                        "images go to the first stage, labels to the last")) {}

  void judge(const PipelineStep& pipeline) {
    judge_actions(pipeline);
    judge_inputs(pipeline);
    judge_messages(pipeline);
    if (pipeline.step.train) judge_schedule(pipeline);
  }

  /// The grid is drawn by the action, times and bytes are found by the numbers.
  void judge_actions(const PipelineStep& pipeline) {
    for (const Event* phase : pipeline.step.phases) {
      if (!phase->args.contains(keys::action)) continue;
      const auto action = PipelineStep::action_of(*phase);
      const int64_t stage = int_arg(phase->args, keys::stage, kNone);
      const int64_t micro_batch = int_arg(phase->args, keys::micro_batch, kNone);
      const bool forward = phase->name == phases::forward;
      facts.expect(action && action->stage == stage &&
                       action->micro_batch == micro_batch &&
                       forward == (action->op == plan::PipelineOp::forward),
                   phase->id, [&] {
                     return fmt::format(
                         "step {}: {} is on an event {} of stage {} and micro-batch {}",
                         pipeline.step.number, string_arg(phase->args, keys::action),
                         phase->name.view(), stage, micro_batch);
                   });
    }
  }

 private:
  void judge_schedule(const PipelineStep& pipeline) {
    const int64_t id = pipeline.step.event->id;
    const int micro_batches = static_cast<int>(pipeline.micro_batches);
    std::string broken = plan::broken_rule(pipeline.schedule, micro_batches);
    if (broken.empty() && stages_of(pipeline.schedule) != pipeline.devices.size()) {
      broken = "a stage has no actions";
    }
    schedule.expect(broken.empty(), id, [&] {
      return fmt::format("step {}: {}", pipeline.step.number, broken);
    });
    const auto named = named_schedule(pipeline);
    if (!broken.empty() || !named) return;
    for (size_t rank = 0; rank < named->size(); ++rank) {
      const auto& wanted = (*named)[rank];
      const auto& ran = pipeline.schedule[rank];
      order.expect(ran == wanted, id, [&] {
        const auto differ =
            std::mismatch(ran.begin(), ran.end(), wanted.begin(), wanted.end());
        const auto text = [](const auto& at, const auto& actions) {
          return at == actions.end() ? "nothing" : to_text(*at);
        };
        return fmt::format("step {}: rank {} ran {} where {} has {}",
                           pipeline.step.number, rank, text(differ.first, ran),
                           pipeline.name, text(differ.second, wanted));
      });
      const int most = plan::live_micro_batches(ran);
      const int bound = plan::live_micro_batches(wanted);
      live.expect(most <= bound, id, [&] {
        return fmt::format("step {}: rank {} holds {} micro-batches, {} allows {}",
                           pipeline.step.number, rank, most, pipeline.name, bound);
      });
    }
  }

  static size_t stages_of(const plan::PipelineSchedule& schedule) {
    int last = -1;
    for (const auto& rank : schedule) {
      for (const auto& action : rank) last = std::max(last, action.stage);
    }
    return static_cast<size_t>(last + 1);
  }

  /// Judges what crossed each border between stages on different devices.
  void judge_messages(const PipelineStep& pipeline) {
    std::map<Crossing, int64_t> forward, back;
    const int64_t id = pipeline.step.event->id;
    for (const Event* task : pipeline.step.tasks) {
      if (!task->is(categories::copy)) continue;
      const CopyFacts copy = copy_facts(*task);
      const bool ahead = copy.why == reasons::activation;
      if (!ahead && copy.why != reasons::activation_grad) continue;
      const int64_t stage = int_arg(task->args, keys::stage, kNone);
      const int64_t border = ahead ? stage : stage + 1;
      const bool placed = border >= 1 && pipeline.in_range(border) &&
                          copy.dst == device_of(pipeline, stage) &&
                          copy.src == device_of(pipeline, ahead ? stage - 1 : border);
      bytes.expect(placed, task->id, [&] {
        return fmt::format("step {}: {} goes to stage {}, but not from its neighbor",
                           pipeline.step.number, copy.why, stage);
      });
      if (!placed) continue;
      const int64_t m = int_arg(task->args, keys::micro_batch, kNone);
      auto& sent = (ahead ? forward : back)[{border, m}];
      bytes.expect(sent == 0, task->id, [&] {
        return fmt::format("step {}: {} of micro-batch {} crosses to stage {} twice",
                           pipeline.step.number, copy.why, m, stage);
      });
      sent = copy.known_bytes();
    }
    for (int64_t border = 1; pipeline.in_range(border); ++border) {
      if (device_of(pipeline, border) == device_of(pipeline, border - 1)) continue;
      const int64_t count = pipeline.step.train ? pipeline.micro_batches : 1;
      for (int64_t m = 0; m < count; ++m) {
        const int64_t there = bytes_of(forward, {border, m});
        const int64_t returned = bytes_of(back, {border, m});
        const int64_t wanted = pipeline.step.train ? there : 0;
        bytes.expect(there > 0 && returned == wanted, id, [&] {
          return fmt::format(
              "step {}: micro-batch {} moved {} B to stage {} and {} B back, expected "
              "{} B",
              pipeline.step.number, m, there, border, returned, wanted);
        });
      }
    }
  }

  static int64_t bytes_of(const std::map<Crossing, int64_t>& sent, Crossing crossing) {
    const auto found = sent.find(crossing);
    return found == sent.end() ? 0 : found->second;
  }

  static int64_t device_of(const PipelineStep& pipeline, int64_t stage) {
    return pipeline.devices[static_cast<size_t>(stage)];
  }

  void judge_inputs(const PipelineStep& pipeline) {
    int64_t images = 0, labels = 0, elsewhere = 0;
    for (const Event* task : pipeline.step.tasks) {
      if (!task->is(categories::copy)) continue;
      const CopyFacts copy = copy_facts(*task);
      if (copy.why != reasons::h2d) continue;
      const bool of_labels = copy.tensor == "labels";
      const int64_t to = of_labels ? pipeline.devices.back() : pipeline.devices.front();
      const bool known = of_labels || copy.tensor == "images";
      int64_t& sum = !known || copy.dst != to ? elsewhere : of_labels ? labels : images;
      sum += copy.known_bytes();
    }
    const Step& step = pipeline.step;
    inputs.expect(
        images == step.input_bytes && labels == step.label_bytes && elsewhere == 0,
        step.event->id, [&] {
          return fmt::format(
              "step {}: {} B of images, {} B of labels and {} B to other "
              "devices; expected {}, {} and 0",
              step.number, images, labels, elsewhere, step.input_bytes,
              step.label_bytes);
        });
  }

  Law &facts, &schedule, &order, &live, &bytes, &inputs;
};

}  // namespace

void judge_pipeline(TraceUnderTest& test) {
  if (string_arg(test.trace.lockstep, top::mode) != kModelParallel) return;
  PipelineLaws laws(test);
  Law& facts = test.law_of_ranks(
      "pipeline-facts", "a step states its stages' devices and its micro-batches");
  // In the file of one of several ranks there are only its own actions.
  const Json& info = object_arg(test.trace.other, top::distributed);
  const bool is_part =
      info.contains(top::rank) && int_arg(info, top::world_size, 1) > 1;
  for (const Step& step : join_ranks(test.steps)) {
    if (step.interrupted) continue;
    const PipelineStep pipeline(step);
    if (is_part) {
      laws.judge_actions(pipeline);
      continue;
    }
    const bool whole = step.train ? pipeline.stated() : !pipeline.devices.empty();
    facts.expect(whole, step.event->id, [&] {
      return fmt::format(
          "step {}: `stage_devices` and `micro_batches` do not describe "
          "a pipeline for a batch of {}",
          step.number, step.batch);
    });
    if (whole) laws.judge(pipeline);
  }
}

}  // namespace lockstep::tracer
