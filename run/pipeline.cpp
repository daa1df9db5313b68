#include "run/pipeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "engine/nn/init.h"
#include "engine/parallel/pipeline_order.h"
#include "engine/plan/chunk.h"
#include "engine/sharing/stage_messages.h"
#include "run/auto_split.h"
#include "run/devices.h"
#include "run/environment.h"
#include "run/words.h"
#include "tracer/format/file_io.h"

namespace lockstep::run {
using plan::PipelineSchedule;

std::vector<std::string> cuts_of(const std::string& split) {
  std::vector<std::string> cuts;
  for (size_t at = 0; at <= split.size();) {
    const size_t end = std::min(split.find(',', at), split.size());
    cuts.push_back(split.substr(at, end - at));
    at = end + 1;
  }
  return cuts;
}

namespace {

/// Returns the schedule in --schedule-file. Throws UsageError if it is not one.
PipelineSchedule schedule_in_file(const RunConfig& c) {
  const std::string& file = c.pipeline.schedule_file;
  PipelineSchedule schedule;
  try {
    schedule = plan::parse_schedule(tracer::read_whole_file(file));
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("--schedule-file {}: {}; fix: correct that line", file,
                                 error.what()));
  } catch (const std::exception& error) {  // names the file
    throw UsageError(fmt::format("--schedule-file: {}", error.what()));
  }
  if (schedule.empty()) {
    throw UsageError(fmt::format(
        "--schedule-file {}: is empty; fix: write one line per device", file));
  }
  return schedule;
}

struct Size {
  int stages = 0, micro_batches = 0;
};

Size size_of(const PipelineSchedule& schedule) {
  Size size;
  for (const auto& rank : schedule) {
    for (const plan::PipelineAction& action : rank) {
      size.stages = std::max(size.stages, action.stage + 1);
      size.micro_batches = std::max(size.micro_batches, action.micro_batch + 1);
    }
  }
  return size;
}

bool splits_by_time(const RunConfig& c) { return is_auto_split(c.pipeline.split); }

int stages_by_flags(const RunConfig& c) {
  if (splits_by_time(c)) return device_count(c) * c.pipeline.virtual_stages;
  return static_cast<int>(cuts_of(c.pipeline.split).size()) + 1;
}

int micro_batches_by_flags(const RunConfig& c) {
  if (c.pipeline.schedule == PipelineKind::naive) return 1;
  return c.pipeline.micro_batches > 0 ? c.pipeline.micro_batches : stages_by_flags(c);
}

plan::PipelineOrder order_of(PipelineKind kind) {
  switch (kind) {
    case PipelineKind::one_f_one_b:
      return plan::PipelineOrder::one_f_one_b;
    case PipelineKind::eager_one_f_one_b:
      return plan::PipelineOrder::eager_one_f_one_b;
    case PipelineKind::interleaved:
      return plan::PipelineOrder::interleaved;
    default:
      return plan::PipelineOrder::gpipe;
  }
}

PipelineSchedule schedule_by_flags(const RunConfig& c) {
  const int micro_batches = micro_batches_by_flags(c);
  try {
    return parallel::schedule_in_use(order_of(c.pipeline.schedule), pipeline_devices(c),
                                     micro_batches, c.pipeline.virtual_stages);
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format(
        "--pipeline-schedule {} with {} devices and {} micro-batch{}: {}; fix: change "
        "--micro-batches",
        word(c.pipeline.schedule), pipeline_devices(c), micro_batches,
        micro_batches == 1 ? "" : "es", error.what()));
  }
}

}  // namespace

PipelineSchedule schedule_of(const RunConfig& c) {
  return c.pipeline.schedule_file.empty() ? schedule_by_flags(c) : schedule_in_file(c);
}

std::string name_of_schedule(const RunConfig& c) {
  if (!c.pipeline.schedule_file.empty()) return "custom";
  return std::string(word(c.pipeline.schedule));
}

namespace {

void refuse_flags_of_named_schedules(const RunConfig& c) {
  for (const char* flag :
       {"--pipeline-schedule", "--micro-batches", "--virtual-stages"}) {
    if (!c.given.contains(flag)) continue;
    throw UsageError(
        fmt::format("{} has no effect on --schedule-file, which lists every action; "
                    "fix: omit one of them",
                    flag));
  }
}

/// `broken`: the rule in its first line, perhaps followed by a grid with a mark.
void refuse_broken_rule(const RunConfig& c, const std::string& broken) {
  if (broken.empty()) return;
  const size_t end = broken.find('\n');
  std::string grid = broken.substr(end);
  while (!grid.empty() && grid.back() == '\n') grid.pop_back();
  throw UsageError(fmt::format("--schedule-file {}: {}; fix: {}{}",
                               c.pipeline.schedule_file, broken.substr(0, end),
                               grid.empty() ? "add it" : "change the marked action",
                               grid));
}

void refuse_split_backward(const RunConfig& c, const PipelineSchedule& schedule) {
  using Op = plan::PipelineOp;
  for (const auto& rank : schedule) {
    for (const plan::PipelineAction& action : rank) {
      if (action.op == Op::forward || action.op == Op::backward) continue;
      throw UsageError(fmt::format(
          "--schedule-file {}: {}: a backward pass computes the gradients of inputs "
          "and weights together; fix: replace I and W with B",
          c.pipeline.schedule_file, plan::to_text(action)));
    }
  }
}

void validate_file(const RunConfig& c) {
  refuse_flags_of_named_schedules(c);
  const PipelineSchedule schedule = schedule_in_file(c);
  const Size size = size_of(schedule);
  refuse_split_backward(c, schedule);
  refuse_broken_rule(c, plan::broken_rule(schedule, size.micro_batches));
  const int cut = stages_by_flags(c);
  if (size.stages == cut || splits_by_time(c)) return;
  throw UsageError(fmt::format(
      "--schedule-file {} has {} stages, but --split {} makes {}; fix: change --split",
      c.pipeline.schedule_file, size.stages, c.pipeline.split, cut));
}

void validate_named(const RunConfig& c) {
  const PipelineConfig& o = c.pipeline;
  if (o.schedule == PipelineKind::naive && o.micro_batches > 1) {
    throw UsageError(
        "--pipeline-schedule naive runs the whole batch as one micro-batch; fix: omit "
        "--micro-batches, or use --pipeline-schedule gpipe");
  }
  if (o.virtual_stages > 1 && o.schedule != PipelineKind::interleaved) {
    throw UsageError(
        fmt::format("--virtual-stages {} requires several stages per device; fix: use "
                    "--pipeline-schedule interleaved",
                    o.virtual_stages));
  }
  if (o.schedule == PipelineKind::interleaved && o.virtual_stages < 2) {
    throw UsageError(
        "--pipeline-schedule interleaved needs several stages per device; fix: add "
        "--virtual-stages 2, or use --pipeline-schedule 1f1b");
  }
  schedule_by_flags(c);
}

/// Returns a --split for as many stages as there are devices (two unless given), where
/// the usual names are enough: at most five of a ResNet, four of the others.
std::string usual_split(const RunConfig& c) {
  const std::vector<std::string> of_resnet{
      "layer3", "layer2,layer4", "layer2,layer3,layer4", "layer1,layer2,layer3,layer4"};
  const std::vector<std::string> of_others{"classifier", "features.6,classifier",
                                           "features.3,features.6,classifier"};
  const auto& splits = has_features(c) ? of_others : of_resnet;
  const int stages = std::max(c.device.count, 2) * c.pipeline.virtual_stages;
  return splits[std::min<size_t>(static_cast<size_t>(stages - 2), splits.size() - 1)];
}

/// Measures on a device that the pipeline does not use, so that the counts of memory
/// and of random numbers of its own begin at zero.
AutoSplit measured_split(const RunConfig& c, const nn::Module& model,
                         const PipelineSchedule& schedule,
                         const std::vector<int64_t>& image_shape) {
  constexpr int kRepetitions = 3;
  const Size size = size_of(schedule);
  std::vector<int64_t> shape{
      plan::chunk_sizes(c.recipe.batch_size, size.micro_batches)[0]};
  shape.insert(shape.end(), image_shape.begin(), image_shape.end());
  const nn::ConstructionScope scope(nn::construction());
  const Tensor images = nn::initial(Shape(shape), nn::Init::normal(1));
  const Device unused{c.device.type, static_cast<int>(schedule.size())};
  return choose_split(parallel::profile_parts(model, unused, images, kRepetitions),
                      size.stages);
}

void validate_auto_split(const RunConfig& c) {
  if (!splits_by_time(c)) return;
  if (!computes(c.device.type)) {
    throw UsageError(
        fmt::format("--split auto, the default, measures times, but --device-type null "
                    "computes nothing; fix: use --device-type cpu, or name the layers, "
                    "such as --split {}",
                    usual_split(c)));
  }
  if (size_of(schedule_of(c)).stages >= 2) return;
  throw UsageError(
      "--split auto, the default, needs at least two stages to cut a model into; fix: "
      "add --devices 4");
}

}  // namespace

int pipeline_devices(const RunConfig& c) {
  if (!c.pipeline.schedule_file.empty()) {
    return static_cast<int>(schedule_in_file(c).size());
  }
  const int stages = stages_by_flags(c), of_each = c.pipeline.virtual_stages;
  if (stages % of_each == 0) return stages / of_each;
  throw UsageError(
      fmt::format("--split {} makes {} stages, which is not a multiple of "
                  "--virtual-stages {}; fix: change --split",
                  c.pipeline.split, stages, of_each));
}

void validate_pipeline(const RunConfig& c) {
  if (mode_of(c) != train::Mode::model_parallel) return;
  if (is_toy(c) || is_sparse(c)) {
    throw UsageError(
        fmt::format("-a {} has a single layer, which --mode model-parallel cannot cut; "
                    "fix: use another model",
                    c.model.arch));
  }
  c.pipeline.schedule_file.empty() ? validate_named(c) : validate_file(c);
  validate_auto_split(c);
  const int devices = pipeline_devices(c);
  if (c.device.count > 0 && c.device.count != devices) {
    throw UsageError(fmt::format(
        "--devices {}: the pipeline has {} stage{} for {} device{}; fix: omit "
        "--devices, or change --split",
        c.device.count, size_of(schedule_of(c)).stages, devices == 1 ? "" : "s",
        devices, devices == 1 ? "" : "s"));
  }
  const int micro_batches = size_of(schedule_of(c)).micro_batches;
  if (micro_batches > c.recipe.batch_size) {
    throw UsageError(fmt::format(
        "a batch of {} cannot be divided into {} micro-batches; fix: increase -b",
        c.recipe.batch_size, micro_batches));
  }
  const auto sizes = plan::chunk_sizes(c.recipe.batch_size, micro_batches);
  if (static_cast<int>(sizes.size()) == micro_batches) return;
  throw UsageError(fmt::format(
      "torch.chunk divides a batch of {} into {} micro-batches of at most {}, not into "
      "{}; fix: change --micro-batches or -b",
      c.recipe.batch_size, sizes.size(), sizes[0], micro_batches));
}

std::string describe_pipeline(const RunConfig& c) {
  const auto sizes =
      plan::chunk_sizes(c.recipe.batch_size, size_of(schedule_of(c)).micro_batches);
  std::string text = fmt::format("{} in {} micro-batch{} of {}", c.recipe.batch_size,
                                 sizes.size(), sizes.size() == 1 ? "" : "es", sizes[0]);
  if (sizes.back() != sizes[0]) text += fmt::format(" (the last: {})", sizes.back());
  return text + ", " + name_of_schedule(c);
}

void require_rank_per_device(const RunConfig& c, int world) {
  if (mode_of(c) != train::Mode::model_parallel) return;
  const int devices = pipeline_devices(c);
  if (world == devices) return;
  throw UsageError(fmt::format(
      "the pipeline has {} device{}, each of which is a process, but {} {} "
      "started; fix: start {}, or change --split",
      devices, devices == 1 ? "" : "s", world, world == 1 ? "is" : "are", devices));
}

void adopt_number_of_ranks(RunConfig& c) {
  const bool is_rank = c.environment.is_launched_rank();
  if (!is_rank || mode_of(c) != train::Mode::model_parallel) return;
  if (c.device.count > 0 || !splits_by_time(c)) return;
  if (c.pipeline.schedule_file.empty()) {
    c.device.count = c.environment.number(variable::kWorld, 1);
  }
}

namespace {

/// Times differ from one process to the next: rank 0 measures, and tells the others.
std::string chosen_split(const RunConfig& c, const nn::Module& model,
                         const PipelineSchedule& schedule,
                         const std::vector<int64_t>& image_shape,
                         const RankPlace& place) {
  if (!splits_by_time(c)) return c.pipeline.split;
  const std::string key = "split";
  if (!place.main()) return place.store->get(key);
  const AutoSplit chosen = measured_split(c, model, schedule, image_shape);
  if (!c.output.quiet) fmt::print("{}", chosen.report(TimesFrom::this_run));
  if (place.store) place.store->set(key, chosen.flag());
  return chosen.flag();
}

}  // namespace

parallel::PipelineOptions pipeline_of(const RunConfig& c, const nn::Module& model,
                                      const std::vector<int64_t>& image_shape,
                                      const RankPlace& place) {
  parallel::PipelineOptions options{{}, schedule_of(c), name_of_schedule(c)};
  options.image_shape = image_shape;
  if (place.group) {
    options.links = std::make_shared<sharing::StageMessages>(
        place.group, Device{c.device.type, place.rank});
  }
  options.cuts = cuts_of(chosen_split(c, model, options.schedule, image_shape, place));
  try {
    parallel::split_into_stages(model, options.cuts);
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("--split: {}", error.what()));
  }
  if (!c.pipeline.save_schedule.empty()) {
    AtomicFile file(c.pipeline.save_schedule);
    file.write(plan::to_csv(options.schedule));
    file.commit();
  }
  return options;
}

}  // namespace lockstep::run
