// Two training scripts with one process and several devices.
#include <functional>

#include "engine/optim/sgd.h"
#include "engine/parallel/data_parallel.h"
#include "engine/parallel/pipeline_model.h"
#include "lessons/16-detective/script.h"

namespace lockstep::lessons::detective {
namespace {

/// Runs `steps` steps in this process, of which the first two are not recorded.
tracer::Trace record_steps(const tracer::RunFacts& facts, int count, int64_t steps,
                           const std::function<void(int64_t step)>& work) {
  tracer::set_rank(0);
  tracer::name_host_thread("main");
  work(0);
  work(1);
  wait_for_devices(count);
  tracer::start_recording();
  for (int64_t step = 0; step < steps; ++step) work(step);
  tracer::stop_recording();
  return tracer::finish_trace(tracer::collect(), facts);
}

Inputs batch_of(int64_t size, int64_t epoch) {
  data::DataLoader loader(std::make_shared<Pictures>(size, false),
                          {.batch_size = size, .seed = static_cast<uint64_t>(epoch)});
  loader.start_epoch(epoch);
  return tensors_of(*loader.next());
}

}  // namespace

/// DataParallel on four devices.
tracer::Trace record_data_parallel() {
  const nn::ModulePtr net = make_net();
  net->to(device(0));
  parallel::DataParallel model(net, devices(kDevices));
  model.assign_paths("");
  optim::Sgd sgd(net->named_parameters(), {.lr = 0.01});
  return record_steps(facts_of("dp", kDevices, *net), kDevices, 2, [&](int64_t number) {
    tracer::set_step(number);
    tracer::step_facts() = {};
    Part step("step");
    step.event.arg({keys::kind, "train"});
    const Inputs inputs = batch_of(kDevices * kBatch, number);
    Tensor labels, output, loss;
    {
      const Part part("h2d");
      const CategoryScope category(MemoryCategory::inputs);
      labels = ops::copy_to(inputs.labels, device(0), {"h2d", "labels"});
    }
    {
      const Part part("forward");
      output = model(inputs.images);
    }
    {
      const Part part("loss");
      loss = ops::cross_entropy(output, labels);
    }
    {
      const Part part("backward");
      sgd.zero_grad();
      loss.backward();
    }
    {
      const Part part("optimizer");
      sgd.step();
    }
    wait_for_devices(kDevices);
    describe(step.event, inputs, tracer::step_facts().output_bytes, "host",
             tracer::step_facts().chunks);
  });
}

/// 1F1B over three stages.
tracer::Trace record_pipeline() {
  const nn::ModulePtr net = make_net();
  parallel::PipelineModel model(
      net, devices(kStages),
      {{"6", "9"},
       plan::pipeline_schedule(plan::PipelineOrder::one_f_one_b, kStages,
                               kMicroBatches),
       "1f1b"});
  model.assign_paths("");
  optim::Sgd sgd(net->named_parameters(), {.lr = 0.01});
  const auto facts = facts_of("model-parallel", kStages, *net);
  return record_steps(facts, kStages, 2, [&](int64_t number) {
    tracer::set_step(number);
    tracer::step_facts() = {};
    Part step("step");
    step.event.arg({keys::kind, "train"});
    const Inputs inputs = batch_of(kMicroBatches * kBatch, number);
    Tensor images, labels;
    {
      const Part part("h2d");
      const CategoryScope category(MemoryCategory::inputs);
      images = ops::copy_to(inputs.images, model.input_device(), {"h2d", "images"});
      labels = ops::copy_to(inputs.labels, model.output_device(), {"h2d", "labels"});
    }
    sgd.zero_grad();
    int64_t output_bytes = 0;
    model.run(images, [&](const Tensor& output, int64_t first_row) {
      const Part part("loss");
      output_bytes += output.nbytes();
      return ops::cross_entropy(output, labels.narrowed(first_row, output.size(0)));
    });
    {
      const Part part("optimizer");
      sgd.step();
    }
    wait_for_devices(kStages);
    describe(step.event, inputs, output_bytes, "device0", {inputs.images.size(0)});
    model.describe(step.event, true);
  });
}

}  // namespace lockstep::lessons::detective
