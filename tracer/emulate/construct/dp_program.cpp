#include "tracer/emulate/construct/dp_program.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <stdexcept>

#include "tracer/format/facts.h"

namespace lockstep::tracer {

namespace {

constexpr char kFeatures[] = "features";

std::vector<const RecordedStep*> with_whole(std::vector<const RecordedStep*> steps,
                                            const RecordedStep* whole) {
  if (whole != nullptr) steps.insert(steps.begin(), whole);
  return steps;
}

/// Both are of the network's forward pass, on one thread.
bool is_of_call(const Event& event, const Event& call) {
  return event.ts >= call.ts && event.end() <= call.end();
}

}  // namespace

DpProgram::DpProgram(const std::vector<const RecordedStep*>& steps, int devices,
                     std::string device_type, const Hardware* hardware, LossOn loss,
                     const RecordedStep* whole)
    : devices_(devices),
      device_type_(std::move(device_type)),
      hardware_(hardware),
      loss_on_each_(loss == LossOn::each_device),
      features_(whole != nullptr),
      whole_(features_ && devices > 1),
      wrapped_(features_ ? kFeatures : ""),
      program_(with_whole(steps, whole_ ? whole : nullptr), hardware),
      first_(whole_ ? *whole : *steps[0]) {
  for (const RecordedStep* step : steps) {
    replicas_.emplace_back(*step);
    chunks_.push_back(step->batch);
  }
  batch_ = std::accumulate(chunks_.begin(), chunks_.end(), int64_t{0});
  const ModelTensor& any = first().step->parameters[0];
  widen_ = Widening(chunks_[0], loss_on_each_ ? chunks_[0] : batch_,
                    any.bytes / std::max<int64_t>(1, any.numel));
  main_.lane = lane_of(*first().whole);
  main_events_ = first().main;
  const Event& wrapped = wrapped_call(first());
  for (const Event* event : first().model) {
    if (!is_of_call(*event, wrapped)) main_events_.push_back(event);
  }
  std::ranges::stable_sort(main_events_, {}, [](const Event* event) {
    return std::pair(event->ts, -event->dur);
  });
}

const Event& DpProgram::wrapped_call(const ReplicaStep& step) const {
  for (const Event* event : step.model) {
    if (!features_ || (event->is(categories::call) &&
                       text_arg(event->args, keys::module) == wrapped_)) {
      return *event;
    }
  }
  throw std::runtime_error("the recorded step does not call `features`");
}

std::vector<const Event*> DpProgram::wrapped_events(const ReplicaStep& step) const {
  const Event& call = wrapped_call(step);
  std::vector<const Event*> events;
  for (const Event* event : step.model) {
    if (is_of_call(*event, call)) events.push_back(event);
  }
  return events;
}

bool DpProgram::is_wrapped(const std::string& tensor) const {
  return !features_ || tensor.starts_with(wrapped_ + ".");
}

std::vector<BackwardNode> DpProgram::wrapped_nodes(const ReplicaStep& step) const {
  if (!features_) return step.nodes;
  std::set<int64_t> forward;
  for (const Event* event : wrapped_events(step)) forward.insert(event->id);
  std::vector<BackwardNode> nodes;
  for (const BackwardNode& node : step.nodes) {
    if (forward.contains(node.op->fwd)) nodes.push_back(node);
  }
  return nodes;
}

std::vector<Event> DpProgram::run() {
  launch_from_main(0, wrapped_call(first()).ts);
  forward();
  if (loss_on_each_) loss_on_each();
  launch_from_main(wrapped_call(first()).end(), first().join->ts);
  backward();
  launch_from_main(first().join->end(), first().whole->end());
  write_main();
  return program_.finish(devices_);
}

int64_t DpProgram::shift_at(int64_t time) const {
  int64_t shift = 0;
  for (const auto& [at, by] : shifts_) {
    if (time >= at) shift = by;
  }
  return shift;
}

void DpProgram::launch_from_main(int64_t from, int64_t to) {
  for (const Event* event : main_events_) {
    if (event->ts < from || event->ts >= to || is_replaced(*event)) continue;
    program_.repeat_tasks(event->id, 0, [&](Event& task) {
      if (is_of_whole_batch(*event)) widen_(task);
    });
  }
  const Event &images = *first().images_op, &labels = *first().labels_op;
  if (images.ts >= from && images.ts < to) {
    continue_main(images.end(), images.ts);  // the images stay on the host
  }
  if (loss_on_each_ && labels.ts >= from && labels.ts < to) {  // and so do the labels
    continue_main(labels.end(), labels.ts + shift_at(labels.ts));
  }
}

bool DpProgram::is_of_whole_batch(const Event& op) const {
  if (features_) return false;  // it was recorded with the whole batch
  const Event& loss = find_phase(*first().step, phases::loss);
  const bool in_loss = op.ts >= loss.ts && op.end() <= loss.end();
  return op.id == first().labels_op->id || (in_loss && op.is(categories::op)) ||
         (op.ts >= first().backward->ts && op.end() <= first().join->ts);
}

void DpProgram::write_main() {
  const int64_t extra = synchronize_others();
  for (const Event* recorded : main_events_) {
    if (is_replaced(*recorded)) continue;
    const int64_t shift = shift_at(recorded->ts);
    Event& event = program_.repeat(*recorded, 0, lane_of(*recorded), shift);
    event.dur = recorded->end() + shift_at(recorded->end()) - event.ts;
    if (recorded == first().whole) {
      event.dur += extra;
      describe(event);
    }
    if (recorded == first().join && !join_waits_for_.empty()) {
      event.waits_for = join_waits_for_;
    }
    if (is_of_whole_batch(*recorded)) widen_(event);
    if (recorded->id == last_copies_awaited_) {
      event.waits_for = {program_.last_copy(0)};
    }
  }
}

int64_t DpProgram::synchronize_others() {
  std::vector<const Event*> waits;
  const Event& optimizer = find_phase(*first().step, phases::optimizer);
  for (const Event* event : main_events_) {
    if (event->is(categories::sync) && event->ts >= optimizer.end()) {
      waits.push_back(event);
    }
  }
  if (devices_ > 1 && waits.size() > 1) last_copies_awaited_ = waits[1]->id;
  const int64_t end = first().whole->end();
  main_.now = end + shift_at(end);
  const int64_t begin = main_.now;
  for (int device = 1; device < devices_ && !waits.empty(); ++device) {
    for (const int64_t id :
         {program_.last_kernel(device), program_.last_copy(device), kNone}) {
      const int64_t sync = program_.open(main_, categories::sync, "synchronize",
                                         {{keys::why, reasons::device}});
      program_.close(main_, sync);
      if (id != kNone) program_.host(sync).waits_for = {id};
    }
  }
  return main_.now - begin;
}

void DpProgram::describe(Event& step) const {
  for (const char* key : {keys::input_bytes, keys::label_bytes, keys::output_bytes}) {
    step.args[key] = int_arg(step.args, key) / first().step->batch * batch_;
  }
  step.args[keys::batch] = batch_;
  step.args[keys::input_on] = values::host;
  step.args[keys::chunks] = chunks_;
  if (!features_) return;
  step.args[keys::output_bytes] = output_of(batch_).bytes;
  int64_t parameters = 0, buffers = 0;
  for (const ModelTensor& tensor : first().step->parameters) {
    if (is_wrapped(tensor.name)) parameters += tensor.bytes;
  }
  for (const ModelTensor& tensor : first().step->buffers) {
    if (is_wrapped(tensor.name)) buffers += tensor.bytes;
  }
  step.args[keys::wrapped_parameter_bytes] = parameters;
  step.args[keys::wrapped_buffer_bytes] = buffers;
}

}  // namespace lockstep::tracer
