// What a step of the trainer copies to its devices, and what its event says of that.
#include <algorithm>
#include <exception>
#include <utility>

#include "engine/ops/copy.h"
#include "engine/train/trainer.h"
#include "tracer/format/keys.h"

namespace lockstep::train {
namespace keys = tracer::keys;

namespace {

/// Returns a tensor whose memory is that of the batch's images, or a copy in float64.
Tensor images_of(data::Batch batch, DType dtype) {
  const Shape sizes(batch.shape);
  const bool bytes = !batch.bytes.empty();
  if (dtype == DType::f64 && !bytes) {
    const Tensor images = Tensor::empty(sizes, kHost, dtype);
    std::copy(batch.images.begin(), batch.images.end(), images.data<double>());
    return images;
  }
  const auto made = std::make_shared<data::Batch>(std::move(batch));
  char* data = bytes ? reinterpret_cast<char*>(made->bytes.data())
                     : reinterpret_cast<char*>(made->images.data());
  const TensorSpec spec{sizes, bytes ? DType::u8 : dtype, nullptr};
  const size_t length = sizes.numel() * item_size(spec.dtype);
  return {std::make_shared<Storage>(std::shared_ptr<char[]>(made, data), length), 0,
          spec};
}

}  // namespace

Trainer::Inputs Trainer::load(data::Batch batch) {
  Inputs inputs;
  inputs.labels = Tensor::empty({batch.size()}, kHost, DType::i64);
  std::copy(batch.labels.begin(), batch.labels.end(), inputs.labels.data<int64_t>());
  inputs.images = images_of(std::move(batch), options_.dtype);
  return inputs;
}

/// Begins to copy labels and images to device 0 (of a pipeline: to the last and the
/// first stage, if this process runs them). With DataParallel, images stay on the host
/// (unless `input_on_device0`): scatter sends each device its chunk. The loss needs its
/// labels where the outputs are gathered; dp-criterion scatters them like the images.
Trainer::Sent Trainer::send_to_devices(const Inputs& host) {
  CategoryScope category(MemoryCategory::inputs);
  Sent sent{{host.images, nullptr}, {host.labels, nullptr}};
  const Device device = pipeline_ ? pipeline_->input_device() : options_.devices[0];
  if (input_on_device0() && (!pipeline_ || pipeline_->has_input())) {
    sent.images = ops::send_to(host.images, device, {"h2d", "images"});
  }
  if (options_.mode == Mode::dp_criterion && !input_on_device0()) return sent;
  const Device of_outputs = pipeline_ ? pipeline_->output_device()
                            : hybrid_ ? hybrid_->classifier()
                                      : options_.output_device.value_or(device);
  if (pipeline_ && !pipeline_->has_output()) return sent;
  sent.labels = ops::send_to(host.labels, of_outputs, {"h2d", "labels"});
  return sent;
}

Trainer::Inputs Trainer::arrived(const Sent& sent) {
  return {ops::arrived(sent.images), ops::arrived(sent.labels)};
}

/// Returns whether a step copies the batch of the next one. A recorded step does not,
/// nor does the one before it: in a trace, each step has the copies of its own batch.
bool Trainer::copies_ahead(bool more_batches, int64_t last_step) const {
  const int64_t next = next_step_ + 1;
  return options_.prefetch_to_device && more_batches && next != last_step &&
         next != options_.first_traced && !tracer::recording();
}

/// Fetches the next step's batch and begins to copy it, while the devices work on this
/// step. If it cannot be loaded, the next step fails.
void Trainer::copy_ahead(data::DataLoader& loader) {
  Ahead next;
  const int64_t start = tracer::now_ns();
  try {
    next.host = load(*loader.next());
    next.data_seconds = static_cast<double>(tracer::now_ns() - start) * 1e-9;
    next.sent = send_to_devices(next.host);
  } catch (...) {
    next.error = std::current_exception();
  }
  ahead_ = std::move(next);
}

std::tuple<Trainer::Inputs, Trainer::Inputs, double> Trainer::take_ahead() {
  const Ahead taken = *std::exchange(ahead_, std::nullopt);
  if (taken.error) std::rethrow_exception(taken.error);
  return {taken.host, arrived(taken.sent), taken.data_seconds};
}

/// Adds the facts required by the trace's byte laws to the step's event.
void Trainer::describe(tracer::HostEvent& event, const Inputs& host,
                       const Tensor& output, bool synced) const {
  if (!event.on()) return;
  const int64_t batch = host.images.size(0);
  // The ranks of a pipeline have parts of one batch: the images, or the labels.
  const bool has_images = !pipeline_ || pipeline_->has_input();
  const bool has_labels = !pipeline_ || pipeline_->has_output();
  event.arg({keys::batch, has_images ? batch : 0});
  event.arg({keys::input_bytes, has_images ? host.images.nbytes() : 0});
  event.arg({keys::label_bytes, has_labels ? host.labels.nbytes() : 0});
  event.arg({keys::input_on, input_on_device0() ? "device0" : "host"});
  if (hybrid_) return describe_hybrid(event, synced);
  if (!wrapper_) {
    event.arg({keys::output_bytes,
               pipeline_ ? tracer::step_facts().output_bytes : output.nbytes()});
    event.arg(tracer::Arg::integers(keys::chunks, {&batch, 1}));
    if (pipeline_) pipeline_->describe(event, callable_->training());
    if (sharing_) sharing_->describe(event);
    if (ddp_) {
      event.arg({keys::broadcast_bytes, ddp_->last_broadcast_bytes()});
      event.arg({keys::synced, synced});
    }
    return;
  }
  const tracer::StepFacts& facts = tracer::step_facts();
  event.arg({keys::output_bytes, facts.output_bytes});
  if (options_.loss_in_forward) event.arg({keys::loss_in_forward, true});
  event.arg(tracer::Arg::integers(keys::chunks, facts.chunks));
  std::vector<int64_t> ids;
  for (const Device device : wrapper_->device_ids()) ids.push_back(device.trace_id());
  const int64_t output_device = wrapper_->output_device().trace_id();
  if (output_device != ids[0] || !std::is_sorted(ids.begin(), ids.end())) {
    event.arg(tracer::Arg::integers(keys::device_ids, ids));
    event.arg({keys::output_device, output_device});
  }
  if (options_.mode != Mode::dp_features) return;
  int64_t parameters = 0, buffers = 0;
  for (const Tensor& tensor : wrapper_->parameters()) parameters += tensor.nbytes();
  for (const Tensor& tensor : wrapper_->buffers()) buffers += tensor.nbytes();
  event.arg({keys::wrapped_parameter_bytes, parameters});
  event.arg({keys::wrapped_buffer_bytes, buffers});
}

/// Of a hybrid, the output is that of the features: what the classifier receives.
void Trainer::describe_hybrid(tracer::HostEvent& event, bool synced) const {
  const tracer::StepFacts& facts = tracer::step_facts();
  event.arg({keys::output_bytes, facts.output_bytes});
  event.arg(tracer::Arg::integers(keys::chunks, facts.chunks));
  std::vector<int64_t> ids;
  for (const Device device : hybrid_->devices()) ids.push_back(device.trace_id());
  event.arg(tracer::Arg::integers(keys::feature_devices, ids));
  event.arg({keys::output_device, hybrid_->classifier().trace_id()});
  int64_t parameters = 0, buffers = 0;
  for (const Tensor& tensor : hybrid_->parameters()) parameters += tensor.nbytes();
  for (const Tensor& tensor : hybrid_->buffers()) buffers += tensor.nbytes();
  event.arg({keys::wrapped_parameter_bytes, parameters});
  event.arg({keys::wrapped_buffer_bytes, buffers});
  event.arg({keys::broadcast_bytes, hybrid_->sent_bytes()});
  event.arg({keys::synced, synced});
}

}  // namespace lockstep::train
