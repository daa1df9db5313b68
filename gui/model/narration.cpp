#include "gui/model/narration.h"

#include <algorithm>

#include "gui/model/event_facts.h"
#include "tracer/format/keys.h"
#include "tracer/format/own_pace.h"

namespace lockstep::gui {

namespace {

using tracer::Json;

// Below these limits a rate is meaningless: startup takes as long as the work itself.
constexpr int64_t kFewBytes = 65'536;
constexpr int64_t kShortKernel = 10'000;  ///< ns

constexpr size_t kLongestError = 480;  ///< characters of a failed run's error

constexpr double kWakingUp = 20'000;  ///< ns; a shorter wait is just thread wake-up

/// One method per kind of event. Each collects facts and lists the templates to try,
/// most specific first.
class Narrator : EventFacts {
 public:
  using EventFacts::EventFacts;

  std::string sentence() {
    if (model_.failed != kNoEvent && model_.failed == state_.event) {
      facts_.text("error", model_.failure, kLongestError);
      return say({"failed"});
    }
    const std::string text = of_its_kind();
    return text.empty() ? say({"other"}) : text;
  }

 private:
  std::string of_its_kind() {
    switch (event_.what()) {
      case Kind::step:
        return step();
      case Kind::phase:
        return phase();
      case Kind::call:
        return call();
      case Kind::op:
        return op();
      case Kind::kernel:
        return kernel();
      case Kind::copy:
        return copy();
      case Kind::collective:
        return collective();
      case Kind::sync:
        return sync();
      case Kind::mark:
        return mark();
      case Kind::other:
        break;
    }
    return "";
  }

  std::string step() {
    if (event_.step != kNoStep) facts_.number("step", event_.step);
    facts_.number("batch", int_arg(args_, keys::batch, -1));
    if (model_.has_device_times()) {
      facts_.time("length", step_.length);
      if (event_.dur != step_.length) facts_.time("host_time", event_.dur);
    }
    if (computes()) facts_.per_second("rate", step_.batch, step_.length);
    const auto longest = std::max_element(
        step_.phases.begin(), step_.phases.end(),
        [](const auto& a, const auto& b) { return a.cost.device < b.cost.device; });
    if (computes() && longest != step_.phases.end() && longest->cost.on_device()) {
      facts_.text("longest", longest->name);
      facts_.share("longest_share", part_of_step(longest->cost.device));
    }
    const bool ddp = is_ddp() && string_arg(args_, keys::kind) == values::train;
    const bool own_pace = tracer::at_own_pace(args_);
    return say({own_pace ? "step/worker" : "", ddp ? "step/ddp" : "",
                "step/" + string_arg(args_, keys::kind), "step"});
  }

  std::string dp() {
    return name() == phases::replicate && add_wrapped_part() ? "part" : "dp";
  }

  std::string phase() {
    const Caused caused = add_caused();
    add_cost(name());
    if (!is_ours(model_)) return say({"phase"});  // what it is for is not recorded
    if (name() == phases::scatter || name() == phases::replicate)
      add_traffic(name(), true);
    if (name() == phases::gather || name() == phases::reduce)
      add_traffic(name(), false);
    if (name() == phases::replicate) add_turns(name(), true);
    if (name() == phases::reduce) add_turns(name(), false);
    facts_.number("batch", int_arg(step_args_, keys::batch, -1));
    std::string special;
    if (is_ddp()) {
      special = "ddp";
      const uint32_t part = collective_below(state_.event);
      const bool reduces = name() == phases::all_reduce;
      if (reduces) special = part == kNoEvent ? "wait" : "bucket";
      if (part != kNoEvent && reduces && !is_bucket(part)) {
        special = "";  // all gradients, after backward
        add_traffic(name(), false);
      } else if (part != kNoEvent && name() != phases::forward) {
        add_collective(part);
      }
      if (part != kNoEvent && computes()) {
        facts_.time("delay", model_.events[part].ts - event_.ts);
      }
    }
    if (is_dp() && name() != phases::scatter && name() != phases::h2d) special = dp();
    const bool computes_loss = name() == phases::forward || name() == phases::loss;
    if (loss_on_each() && computes_loss) special = "criterion";
    if (loss_inside() && (computes_loss || name() == phases::gather))
      special = "inside";
    if (averages_weights()) special = "averages";
    if (name() == phases::h2d && caused.copies == 0 && has_criterion()) {
      special = "criterion";
    }
    if (name() == phases::forward && !is_dp() && !is_ddp() && !trains())
      special = "eval";
    if (name() == phases::pull) add_traffic(reasons::pull, true);
    if (name() == phases::pull && string_arg(step_args_, keys::lock) == names::step) {
      special = "locked";
      add_wait_for_lock();
    }
    if (name() == phases::optimizer && add_shared_update()) special = "shared";
    if (has_servers()) {
      special = add_server();
      const bool pulls = name() == phases::pull;
      const std::string rule = pulls ? add_wait_for_workers() : "";
      if (!rule.empty()) return say({"phase/" + name() + "/waits/" + rule, "phase"});
    }
    if (step_args_.contains(keys::micro_batches)) special = "pipeline";
    if (name() == phases::scatter && from_ != kHostDevice) special = "device";
    if (name() == phases::h2d && is_dp() && caused.copies == 1 &&
        string_arg(step_args_, keys::input_on) == values::host) {
      special =
          string_arg(args_of(model_, model_.events[caused.first_copy]), keys::tensor);
    }
    if (is_hybrid() && (trains() || name() != phases::forward)) {
      if (name() == phases::all_reduce) add_traffic(name(), false);
      if (name() == phases::gather) add_traffic(reasons::activation, false);
      special = name() == phases::h2d && caused.copies == 1 ? "labels" : "hybrid";
    }
    if (args_.contains(keys::action)) {  // a pass of a pipeline
      special = "action";
      facts_.number("stage", int_arg(args_, keys::stage, -1));
      facts_.number("micro_batch", int_arg(args_, keys::micro_batch, -1));
    }
    return say({"phase/" + name() + "/" + special, "phase/" + name(), "phase"});
  }

  std::string call() {
    const size_t dot = name().rfind('.');
    const std::string function = dot == std::string::npos ? "" : name().substr(dot + 1);
    std::string type = name().substr(0, dot);
    if (function == "_call_impl" && event_.parent != kNoEvent) {
      const std::string& caller = model_.name_of(model_.events[event_.parent]);
      type = caller.substr(0, caller.rfind('.'));
    }
    facts_.text("type", type);
    const std::string module = string_arg(args_, keys::module);
    const bool is_root = args_.find(keys::module) != args_.end() && module.empty();
    facts_.text("module", module);
    std::string special = is_root ? "model" : "";
    if (is_root && phase_name() == phases::parallel_apply) special = "replica";
    facts_.text("callee", is_root ? say({"word/" + special}) : module);
    if (type == "DataParallel") special = loss_inside() ? "inside" : "dp";
    if (special == "replica" && function == "forward" && loss_on_each()) {
      special = "criterion/replica";
    }
    if (type == "DataParallelModel") special = "criterion";
    if (type == "DistributedDataParallel") special = "ddp";
    add_later(add_caused());
    return say({"call/" + function + "/" + special, "call/" + function,
                "call/" + name(), "call/" + string_arg(json_, "cat"), "call"});
  }

  std::string op() {
    const Caused caused = add_caused();
    if (name() == "GatherBackward") add_traffic(reasons::grad_scatter, true);
    if (name() == "BroadcastBackward") add_traffic(reasons::reduce, false);
    facts_.flops("flops", int_arg(args_, keys::flops));
    const auto shapes = args_.find(keys::shapes);
    if (shapes != args_.end()) {
      facts_.number("tensors", static_cast<int64_t>(shapes->size()));
    }
    facts_.text("kernel", string_arg(args_, keys::kernel));
    if (caused.mark != kNoEvent) {
      facts_.text("param",
                  string_arg(args_of(model_, model_.events[caused.mark]), keys::param));
    }
    if (caused.copies == 1) {
      facts_.text("why", model_.strings[model_.copy_of(caused.first_copy)->why]);
    }
    std::string caller = add_layer(state_.event, args_);
    if (caller == "BasicBlock" || caller == "Bottleneck") caller = "shortcut";
    add_later(caused);
    const bool idle = is_complete() && caused.nothing();
    if (idle) facts_.phrase("later", say({"later/none"}));
    if (is_hybrid() && name() == "GatherBackward") caller = "hybrid";
    const bool moves = caused.copies > 0 && caused.kernels == 0;
    const bool splits = is_dp() && trains() && phase_name() == phases::parallel_apply;
    if (!is_ours(model_)) return foreign_op(caused);
    const std::string key = "op/" + name();
    if (name().starts_with("c10d::")) {
      const uint32_t part = collective_below(state_.event);
      if (part != kNoEvent) add_collective(part);
    }
    if (name() == "aten::nll_loss" && is_ddp()) caller = "ddp";
    if (name().starts_with("aten::") && loss_on_each()) {
      if (name() == "aten::nll_loss") caller = "criterion";
      if (name() == "aten::add_" && phase_name() == phases::reduce)
        caller = "criterion";
    }
    if (name() == "aten::mul" && is_ddp() && phase_name() == phases::backward) {
      caller = "bucket";
    }
    return say({idle ? key + "/none/" + phase_name() : "", idle ? key + "/none" : "",
                caused.kernels == 2 ? key + "/both" : "", splits ? key + "/split" : "",
                key + "/" + caller, key + "/" + phase_name(), key,
                moves && caused.copies == 1 ? "op/copy" : "", moves ? "op/copies" : "",
                "op/backward", "op"});
  }

  /// Describes what every program's operator of that name does, but not what it is for.
  std::string foreign_op(const Caused& caused) {
    static constexpr std::string_view kSame[] = {"aten::conv2d", "aten::linear",
                                                 "aten::batch_norm", "aten::max_pool2d",
                                                 "aten::adaptive_avg_pool2d"};
    const bool same =
        std::find(std::begin(kSame), std::end(kSame), name()) != std::end(kSame);
    const bool moves = caused.copies > 0 && caused.kernels == 0;
    return say({same ? "op/" + name() : "",
                moves && caused.copies == 1 ? "op/copy" : "", moves ? "op/copies" : "",
                "op/backward", "op"});
  }

  std::string kernel() {
    int64_t flops = int_arg(args_, keys::flops);
    if (event_.parent != kNoEvent) {
      const Event& op = model_.events[event_.parent];
      const Json op_args = args_of(model_, op);
      add_layer(event_.parent, op_args);
      if (flops <= 0 && op.what() == Kind::op && caused_by(model_, op).kernels == 1) {
        flops = int_arg(op_args, keys::flops);
      }
    }
    facts_.flops("flops", flops);
    const int64_t bytes = int_arg(args_, keys::bytes);
    facts_.bytes("moved", bytes);
    if (bytes >= kFewBytes) facts_.bandwidth("rate", bytes, event_.dur);
    if (event_.dur >= kShortKernel) facts_.flop_rate("rate", flops, event_.dur);
    facts_.text("impl", string_arg(args_, keys::impl));
    const auto length = static_cast<double>(event_.dur);
    const double queued = number_arg(args_, keys::queued_us) * 1e3;
    if (queued > length / 10 && queued > kWakingUp && queued < kMaxSpan) {
      facts_.time("queued", static_cast<int64_t>(queued));
      facts_.text("processor", processor_words(model_));
    }
    const double cpu = number_arg(args_, keys::cpu_us) * 1e3;
    if (cpu > 0 && cpu < 0.8 * length)
      facts_.share(on_gpus(model_) ? "gpu" : "cpu", cpu / length);
    const bool void_times = !computes() || string_arg(args_, keys::impl) == "null";
    const std::string key = "kernel/" + name();
    return say(
        {void_times ? "kernel/null" : "", key + "/" + phase_name(), key, "kernel"});
  }

  std::string copy() {
    const Copy& copy = *model_.copy_of(state_.event);
    const std::string& why = model_.strings[copy.why];
    add_places(copy.src, copy.dst);
    facts_.text("why", why);
    facts_.bytes("bytes", copy.bytes);
    if (computes() && copy.bytes >= kFewBytes) {
      facts_.bandwidth("rate", copy.bytes, event_.dur);
    }
    const std::string tensor = string_arg(args_, keys::tensor);
    facts_.text("tensor", tensor);
    facts_.number("stage", int_arg(args_, keys::stage, -1));
    facts_.number("micro_batch", int_arg(args_, keys::micro_batch, -1));
    // Why another program copies is not recorded, only where to.
    if (!is_ours(model_)) return say({why == reasons::d2h ? "copy/d2h" : "", "copy"});
    const std::string shape = shape_arg(args_, keys::shape);
    if (shape.size() > 2) facts_.text("shape", shape);
    std::string special = tensor;
    if (why == reasons::scatter && add_chunk(copy)) special = "chunk";
    if (why == reasons::replicate || why == reasons::reduce) special = add_group(copy);
    if (why == reasons::d2h) special = copy.bytes <= 8 ? "number" : "";
    if (has_servers() && tensor != "initial weights" &&
        (why == reasons::pull || why == reasons::push)) {
      special = "server";
    }
    const bool states_place = why == reasons::h2d && tensor == "labels";
    if (why == reasons::loss_grad && loss_inside()) special = "inside";
    if (loss_on_each() && (states_place || why == reasons::metrics))
      special = "criterion";
    const std::string message = add_message(copy);
    if (is_hybrid() && why != reasons::scatter && why != reasons::h2d &&
        why != reasons::d2h)
      special = "hybrid";
    else if (!message.empty())
      special = message;
    else if (why == reasons::all_reduce)
      special = add_ring();
    return say({"copy/" + why + "/" + special, "copy/" + why, "copy"});
  }

  std::string collective() {
    const CollectiveArgs own(args_);
    const std::string kind(own.facts.collective);
    if (!kind.empty()) facts_.text("name", kind);
    add_collective(state_.event);
    const std::string halved = add_stage_message();
    if (!halved.empty()) return say({"collective/" + kind + "/" + halved});
    facts_.number("group_size", group_size());
    facts_.text("algorithm", own.facts.algorithm);
    // Another program's sums may be of anything: activations, gradients, numbers.
    if (!is_ours(model_)) return say({"collective"});
    const std::string special(is_hybrid()             ? "hybrid"
                              : own.facts.bucket >= 0 ? "bucket"
                                                      : own.facts.why);
    return say(
        {"collective/" + kind + "/" + special, "collective/" + kind, "collective"});
  }

  std::string sync() {
    const std::string why = string_arg(args_, keys::why);
    const auto awaited = args_.find(keys::waits_for);
    if (awaited != args_.end() && awaited->is_array() && !awaited->empty()) {
      facts_.number("threads", static_cast<int64_t>(awaited->size()));
      const Json& last = awaited->back();
      const int64_t id = last.is_number_integer() ? last.get<int64_t>() : -1;
      if (const uint32_t cause = model_.event_of_id(id); cause != kNoEvent) {
        const Event& event = model_.events[cause];
        const Copy* copy = model_.copy_of(cause);
        facts_.text("cause", model_.name_of(event));
        add_device(copy ? copy->src : model_.lanes[event.lane].device);
      }
    }
    std::string special = phase_name();
    const bool in_step =
        state_.phase != kNoEvent && model_.events[state_.phase].what() == Kind::step;
    if (in_step && is_ours(model_)) special = "end";
    if (const std::string rule = add_wait_for_workers(); !rule.empty()) {
      return say({"sync/" + name() + "/" + rule, "sync/" + name(), "sync"});
    }
    return say(
        {"sync/" + name(), "sync/" + why + "/" + special, "sync/" + why, "sync"});
  }

  std::string mark() {
    facts_.text("param", string_arg(args_, keys::param));
    facts_.number("bucket", int_arg(args_, keys::bucket, -1));
    facts_.text("slot", string_arg(args_, keys::slot));
    const uint32_t by = model_.event_of_id(int_arg(args_, keys::by, -1));
    if (by != kNoEvent) facts_.text("cause", model_.name_of(model_.events[by]));
    if (name() == names::grad_ready && add_bucket_of(string_arg(args_, keys::param))) {
      return say({"mark/grad_ready/bucket", "mark/grad_ready"});
    }
    if (name() == names::bucket_ready && event_.parent != kNoEvent) {
      const uint32_t part = collective_below(event_.parent);
      if (part != kNoEvent) add_collective(part);
      return say({"mark/bucket_ready/whole", "mark/bucket_ready"});
    }
    return say({"mark/" + name(), "mark"});
  }
};

}  // namespace

Narration narrate(const Model& model, const State& state, const Breakdown& of_step,
                  const Language& language) {
  return {Narrator(model, state, of_step, language).sentence()};
}

}  // namespace lockstep::gui
