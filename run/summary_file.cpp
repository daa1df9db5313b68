// The file of `--summary`.
#include <fmt/format.h>

#include "base/file.h"
#include "run/rank_place.h"
#include "run/recording.h"
#include "tracer/format/keys.h"

namespace lockstep::run {

void Recording::write_summary() const {
  tracer::Json steps = tracer::Json::array();
  for (const train::StepResult& result : results_) {
    tracer::Json step{{"step", result.step},
                      {"loss", result.loss},
                      {"acc1", result.acc1},
                      {"acc5", result.acc5},
                      {"seconds", result.seconds},
                      {"kind", result.train ? "train" : "eval"},
                      {"batch", result.batch},
                      {"phases", tracer::Json::object()},
                      {"phases_host", tracer::Json::object()}};
    if (result.step < static_cast<int64_t>(timings_.size())) {
      const tracer::Json& timing = timings_[result.step];
      for (const char* key : kTimings) {
        if (timing.contains(key)) step[key] = timing[key];
      }
    }
    steps.push_back(std::move(step));
  }
  int64_t parameters = 0;
  for (const Tensor& tensor : trainer_.model()->parameters()) {
    parameters += tensor.numel();
  }
  tracer::Json summary{{"mode", train::name(mode_of(config_))},
                       {"arch", config_.model.arch},
                       {"dataset", dataset_},
                       {"devices", peaks_.size()},
                       {"world_size", place_.world},
                       {"seed", config_.recipe.seed},
                       {"global_batch", global_batch(config_, place_)},
                       {"steps", steps},
                       {"images_per_second", images_per_second()},
                       {"peak_bytes_per_device", peaks_},
                       {"parameters", parameters},
                       {"skipped_images", skipped_images_},
                       {"clock", tracer::values::measured}};
  if (const auto& pipeline = trainer_.options().pipeline) {
    summary["split"] = fmt::format("{}", fmt::join(pipeline->cuts, ","));
  }
  if (const sharing::Sharing* sharing = trainer_.sharing()) {
    for (const auto& [name, value] : sharing->totals()) {
      summary["shared_model"][name] = value;
    }
  }
  AtomicFile file(config_.output.summary);
  file.write(summary.dump(1) + "\n");
  file.commit();
}

}  // namespace lockstep::run
