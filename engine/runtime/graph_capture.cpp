#include "engine/runtime/graph_capture.h"

#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include "engine/runtime/device_context.h"

namespace lockstep::runtime {
namespace {

Streams without_first(const Streams& streams) {
  return {streams.begin() + 1, streams.end()};
}

}  // namespace

GraphPtr capture(const Streams& streams, const std::function<void()>& enqueue_all) {
  for (Stream* stream : streams) stream->record_event()->wait();
  const Streams others = without_first(streams);
  const auto turn = std::make_shared<std::mutex>();
  const EventPtr begun = streams[0]->begin_capture(turn);
  for (Stream* stream : others) stream->join_capture(begun, turn);

  std::exception_ptr error;
  try {
    enqueue_all();
  } catch (...) {  // a capture that has begun must end
    error = std::current_exception();
  }

  GraphPtr graph;
  std::vector<EventPtr> ends;
  for (Stream* stream : others) ends.push_back(stream->record_event());
  streams[0]->end_capture(std::move(ends), graph)->wait();
  for (Stream* stream : others) stream->leave_capture()->wait();
  if (error) std::rethrow_exception(error);
  for (Stream* stream : streams) {
    if (stream->device().poisoned()) return nullptr;
  }
  return graph;
}

EventPtr replay(const GraphPtr& graph, const Streams& streams) {
  std::vector<EventPtr> before;
  for (Stream* stream : without_first(streams)) {
    if (stream->kind() != StreamKind::copy) before.push_back(stream->record_event());
  }
  EventPtr done = streams[0]->launch(graph, std::move(before));
  for (Stream* stream : without_first(streams)) {
    if (stream->kind() != StreamKind::copy) stream->wait(done);
  }
  return done;
}

// --- the parts that run on the streams' workers

EventPtr Stream::begin_capture(std::shared_ptr<std::mutex> turn) {
  Task begin;
  begin.record.name = "capture";
  begin.shared = true;  // also on a failed device, so that all streams take part
  begin.run = [this, turn = std::move(turn)] {
    mark_launched();
    hardware_->begin_capture();
    turn_ = turn;
    capturing_ = true;
  };
  return enqueue(std::move(begin));
}

/// The queue joins the capture by waiting for a mark in it.
EventPtr Stream::join_capture(const EventPtr& begun, std::shared_ptr<std::mutex> turn) {
  Task join;
  join.record.name = "capture";
  join.shared = true;
  join.run = [this, begun, turn = std::move(turn)] {
    mark_launched();
    const Mark* mark = begun->handed_over();
    std::lock_guard lock(*turn);
    if (mark) hardware_->wait(*mark);
    turn_ = turn;
    capturing_ = true;
  };
  return enqueue(std::move(join));
}

EventPtr Stream::end_capture(std::vector<EventPtr> joined, GraphPtr& graph) {
  Task join, end;  // two tasks: if the first one fails, the capture ends all the same
  join.record.name = end.record.name = "capture";
  join.shared = end.shared = true;
  join.waits = std::move(joined);  // then the other streams have handed over all tasks
  join.run = [] {};
  end.run = [this, &graph] {
    if (!capturing_) return;  // it failed to begin
    forget_captured();
    graph = hardware_->end_capture();
  };
  enqueue(std::move(join));
  return enqueue(std::move(end));
}

EventPtr Stream::leave_capture() {
  Task leave;
  leave.record.name = "capture";
  leave.shared = true;
  leave.run = [this] { forget_captured(); };
  return enqueue(std::move(leave));
}

/// A captured task has not run, but other streams of the capture may wait for it. Until
/// the capture ends, it does not count as done: memory that it uses on another stream
/// must not be reused by a later task of the same graph.
void Stream::add_to_capture(Task& task) {
  MarkPtr mark;
  try {
    std::lock_guard lock(*turn_);
    mark = hardware_->mark(false);
  } catch (const std::exception& error) {
    device_.poison(task.record.name, error.what());
  }
  task.done->hand_over(std::move(mark), true);
  captured_.push_back(std::move(task.done));
}

void Stream::forget_captured() {
  capturing_ = false;
  for (const EventPtr& event : std::exchange(captured_, {})) event->signal();
}

EventPtr Stream::launch(GraphPtr graph, std::vector<EventPtr> waits) {
  Task task;
  task.record.name = "graph";
  task.waits = std::move(waits);
  task.run = [this, graph = std::move(graph)] { hardware_->launch(*graph); };
  return enqueue(std::move(task));
}

}  // namespace lockstep::runtime
