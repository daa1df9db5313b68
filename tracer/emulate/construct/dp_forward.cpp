#include "tracer/emulate/construct/dp_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "engine/plan/ring.h"
#include "tracer/emulate/hardware/hardware.h"
#include "tracer/format/facts.h"

namespace lockstep::tracer {

namespace {

constexpr int64_t kPieceOfGroup = 512 << 10;  // bytes
constexpr int64_t kPiecesOfGroup = 8;         // at most

}  // namespace

std::vector<Coalesced> replicated(const RecordedStep& step,
                                  const std::string& wrapped) {
  const std::string prefix = wrapped.empty() ? "" : wrapped + ".";
  std::vector<Coalesced> all(1);
  for (const ModelTensor& tensor : step.parameters) {
    if (tensor.name.starts_with(prefix)) all[0].add(tensor);
  }
  for (const char* dtype : {"float32", "float64", "int64"}) {
    Coalesced buffers;
    for (const ModelTensor& tensor : step.buffers) {
      if (tensor.dtype == dtype && tensor.name.starts_with(prefix)) buffers.add(tensor);
    }
    if (!buffers.tensors.empty()) all.push_back(std::move(buffers));
  }
  return all;
}

void DpProgram::forward() {
  const Event& replaced = wrapped_call(first());
  main_.now = replaced.ts + shift_at(replaced.ts);
  const int64_t called =
      call(loss_on_each_ ? "DataParallelModel.__call__" : "DataParallel.__call__");
  const int64_t implementation = call("Module._call_impl");
  const int64_t body =
      call(loss_on_each_ ? "DataParallelModel.forward" : "DataParallel.forward");
  scatter();
  if (devices_ == 1) {
    repeat_model(0, main_, kNone);
  } else {
    replicate();
    parallel_apply();
    if (!loss_on_each_) gather();
  }
  for (const int64_t id : {body, implementation, called}) program_.close(main_, id);
  continue_main(replaced.end(), main_.now);
}

int64_t DpProgram::call(const char* name) {
  return program_.open(
      main_, categories::call, name,
      {{keys::module, wrapped_}, {keys::shapes, Json::array({shape_of(batch_)})}});
}

std::vector<int64_t> DpProgram::shape_of(int64_t images) const {
  std::vector<int64_t> shape = copy_facts(*first().images).shape.integers();
  if (!shape.empty()) shape[0] = images;
  return shape;
}

int64_t DpProgram::phase(const char* name, Json args) {
  return program_.open(main_, categories::phase, name, std::move(args));
}

void DpProgram::send(Thread& thread, const char* op, ProcessProgram::Copy copy,
                     const IdList& deps) {
  copy.op = program_.open(thread, categories::op, op,
                          {{keys::shapes, Json::array({copy.shape})}});
  program_.copy(copy, deps);
  program_.launch(thread);
  program_.close(thread, copy.op);
}

void DpProgram::scatter() {
  const int64_t id = phase(phases::scatter);
  const CopyFacts images = copy_facts(*first().images);
  for (int i = 0; i < replicas(); ++i) {
    send(main_, "aten::to",
         {.src = kHost,
          .dst = i,
          .why = reasons::scatter,
          .phase = phases::scatter,
          .tensor = "images",
          .dtype = std::string(images.dtype),
          .shape = shape_of(chunks_[i]),
          .bytes = images.bytes / first().step->batch * chunks_[i]});
  }
  program_.close(main_, id);
}

void DpProgram::replicate() {
  replicate_ = phase(phases::replicate);
  int64_t moved = 0;
  for (const Coalesced& all : replicated(*first().step, wrapped_)) {
    for (const plan::Group& group : plan::coalesce_broadcast(all.bytes)) {
      moved += 2 * all.bytes_of(group);
      program_.kernel(
          {replicate_, 0, "flatten_many", phases::replicate, 2 * all.bytes_of(group)});
      program_.launch(main_);
      const ProcessProgram::Copy copy{.why = reasons::replicate,
                                      .phase = phases::replicate,
                                      .tensor = "group",
                                      .dtype = all.dtype,
                                      .shape = {all.numel_of(group)},
                                      .bytes = all.bytes_of(group)};
      if (uses_nccl()) {
        std::vector<int> along(replicas());
        std::iota(along.begin(), along.end(), 0);
        hand_on(main_, "nccl::broadcast", copy, along);
      } else {
        send_to_each(copy);
      }
    }
  }
  if (hardware_ != nullptr) {
    const auto parameters =
        static_cast<double>(replicated(*first().step, wrapped_)[0].tensors.size());
    const HostCosts& host = hardware_->host;
    main_.now += std::llround(1e3 * parameters *
                              (host.replica_us_per_parameter * (replicas() - 1) +
                               host.replicate_us_per_parameter));
  }
  program_.host(replicate_).args[keys::bytes] = moved;
  program_.close(main_, replicate_);
}

void DpProgram::send_to_each(const ProcessProgram::Copy& group) {
  for (int i = 1; i < replicas(); ++i) {
    ProcessProgram::Copy copy = group;
    copy.src = 0;
    copy.dst = i;
    send(main_, "aten::to", copy);
  }
}

void DpProgram::hand_on(Thread& thread, const char* name,
                        const ProcessProgram::Copy& group,
                        const std::vector<int>& along, IdList ready) {
  const int64_t op = program_.open(thread, categories::op, name,
                                   {{keys::shapes, Json::array({group.shape})}});
  const int64_t item = group.bytes / group.shape[0];
  const int64_t pieces =
      std::clamp<int64_t>(group.bytes / kPieceOfGroup, 1, kPiecesOfGroup);
  for (const auto& piece :
       plan::ring_chunks(group.shape[0], static_cast<int>(pieces))) {
    IdList before = std::exchange(ready, {});
    for (size_t i = 1; i < along.size(); ++i) {
      ProcessProgram::Copy copy = group;
      copy.op = op;
      copy.src = along[i - 1];
      copy.dst = along[i];
      copy.shape = {piece.count};
      copy.bytes = piece.count * item;
      copy.modelled = true;
      before = {program_.copy(copy, before)};
    }
  }
  program_.launch(thread);
  program_.close(thread, op);
}

int64_t DpProgram::repeat_model(int replica, Thread& thread, int64_t parent) {
  const ReplicaStep& repeated = replicas_[replica];
  const Event& called = wrapped_call(repeated);
  const int64_t begin = called.ts, shift = thread.now - begin;
  const bool in_turns = hardware_ != nullptr && hardware_->host.interpreter_lock;
  const int64_t slower = in_turns ? replicas() : 1;
  for (const Event* event : wrapped_events(repeated)) {
    Event& written = program_.repeat(*event, step_of(replica), thread.lane, shift);
    written.ts = thread.now + slower * (event->ts - begin);
    written.dur = slower * event->dur;
    program_.repeat_tasks(event->id, step_of(replica), replica, [&](Event& task) {
      if (parent != kNone) task.args[keys::phase] = phases::parallel_apply;
    });
  }
  const int64_t call = program_.id_of(called.id, step_of(replica));
  program_.host(call).parent = parent;
  thread.now += slower * called.dur;
  return call;
}

void DpProgram::on_each_replica(
    const std::function<int64_t(int replica, Thread&)>& run) {
  const int64_t join = program_.open(main_, categories::sync, "join replicas",
                                     {{keys::why, reasons::join}});
  IdList calls;
  int64_t over = main_.now;
  for (int i = 0; i < replicas(); ++i) {
    if (i == static_cast<int>(replica_threads_.size())) {
      replica_threads_.push_back(program_.new_thread(
          fmt::format("replica {}:{}", device_type_, i), main_.now));
    }
    Thread& thread = replica_threads_[i];
    thread.now = main_.now;
    calls.push_back(run(i, thread));
    over = std::max(over, thread.now);
  }
  program_.host(join).waits_for = calls;
  main_.now = over;
  program_.close(main_, join);
}

void DpProgram::parallel_apply() {
  const int64_t id = phase(phases::parallel_apply);
  on_each_replica([&](int i, Thread& thread) { return repeat_model(i, thread, id); });
  program_.close(main_, id);
}

ProcessProgram::Copy DpProgram::output_of(int64_t samples) const {
  const int64_t sample =
      int_arg(first().whole->args, keys::output_bytes) / first().step->batch;
  const ModelTensor& any = first().step->parameters[0];
  const int64_t item = any.bytes / std::max<int64_t>(1, any.numel);
  ProcessProgram::Copy output{.tensor = "output",
                              .dtype = any.dtype,
                              .shape = {samples, sample / item},
                              .bytes = sample * samples};
  if (!features_) return output;
  const Event& called = wrapped_call(first());
  for (const Event* next : first().model) {  // it receives the output
    if (next->ts < called.end() || !next->args.contains(keys::shapes)) continue;
    output.shape =
        next->args.find(keys::shapes).json().at(0).get<std::vector<int64_t>>();
    output.shape.at(0) = samples;
    output.bytes = std::accumulate(output.shape.begin(), output.shape.end(), item,
                                   std::multiplies<>());
    break;
  }
  return output;
}

void DpProgram::make_contiguous(int device, const ProcessProgram::Copy& output) {
  const bool blocked = device_type_ == "cpu" && output.shape.size() == 4;
  if (!blocked) return;
  const int64_t bytes = 2 * output.bytes;
  const int64_t op = program_.open(
      main_, categories::op, "aten::contiguous",
      {{keys::shapes, Json::array({output.shape})}, {keys::bytes, bytes}});
  program_.kernel({op, device, "copy", phases::gather, bytes});
  program_.launch(main_);
  program_.close(main_, op);
}

void DpProgram::gather() {
  gather_ = phase(phases::gather);
  for (int i = 0; i < replicas(); ++i) {
    ProcessProgram::Copy output = output_of(chunks_[i]);
    if (i == 0) {
      const int64_t op = program_.open(main_, categories::op, "aten::copy_",
                                       {{keys::shapes, Json::array({output.shape})},
                                        {keys::bytes, 2 * output.bytes}});
      make_contiguous(0, output);
      program_.kernel({op, 0, "copy", phases::gather, 2 * output.bytes});
      program_.launch(main_);
      program_.close(main_, op);
      continue;
    }
    output.src = i;
    output.dst = 0;
    output.why = reasons::gather;
    output.phase = phases::gather;
    output.op = program_.open(main_, categories::op, "aten::copy_",
                              {{keys::shapes, Json::array({output.shape})}});
    make_contiguous(i, output);
    program_.copy(output, {program_.last_kernel(0)});
    program_.launch(main_);
    program_.close(main_, output.op);
  }
  program_.close(main_, gather_);
}

}  // namespace lockstep::tracer
