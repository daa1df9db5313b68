#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <thread>

#include "engine/autograd/engine.h"
#include "engine/nn/module_call.h"
#include "engine/ops/copy.h"
#include "engine/ops/ops.h"
#include "lessons/machine/exam.h"
#include "lessons/machine/meeting.h"
#include "lessons/machine/modules_with_hooks.h"
#include "lessons/machine/predicates.h"
#include "tracer/record/recorder.h"

namespace lockstep::lessons::lesson_13 {

LESSON_TEST(13, runs_forward, "model(x) runs forward once and returns its result") {
  Hooked net;
  const std::string result = net.call(5);
  exam.equal("calls during model(5), of a module that triples", Log{"forward(5)"},
             net.log,
             {"without hooks, `_call_impl` does one thing: it calls forward, once",
              "The chain"});
  exam.equal("the result of model(5)", std::string("15"), result,
             {"what forward returns is what model(x) returns", "The chain"});
  const Tensor leaf = on_device(5).detach().set_requires_grad(true);
  const Tensor output = net.module(leaf);
  if (output.requires_grad()) output.backward();
  exam.equal("the gradient of model(x) for x", std::string("3"), shown(leaf.grad()),
             {"forward gets the very tensor that the caller passed, and the caller the "
              "one that forward returned: a copy or .detach() ends backward there",
              "The chain"});
}

LESSON_TEST(13, order, "pre-hooks run before forward, hooks after it") {
  Hooked net;
  net.pre_hook();
  net.pre_hook();
  net.hook();
  net.hook();
  const std::string result = net.call(5);
  const auto undefined = [](const std::string& call) {
    return call.find("undefined") != call.npos;
  };
  exam.equal("calls that see an undefined tensor, if no hook returns anything",
             std::ptrdiff_t{0}, std::ranges::count_if(net.log, undefined),
             {"an undefined tensor is Python's None: a hook that returns it only "
              "looked, and nothing is replaced",
              "Before forward"});
  exam.equal("calls during model(5), with two hooks before and two after",
             Log{"pre-hook 0(5)", "pre-hook 1(5)", "forward(5)", "hook 0(5, 15)",
                 "hook 1(5, 15)"},
             net.log,
             {"hooks run in the order in which they were registered: all pre-hooks, "
              "then forward, then all hooks with what forward received and returned",
              "Before forward"});
  exam.equal("the result of model(5) if no hook returns anything", std::string("15"),
             result,
             {"an undefined tensor is Python's None: a hook that returns it only "
              "looked, and nothing is replaced",
              "Before forward"});
}

LESSON_TEST(13, pre_hook_replaces, "a pre-hook may replace the input") {
  Hooked net;
  net.pre_hook(10);
  net.pre_hook();
  net.pre_hook(2);
  const std::string result = net.call(5);
  exam.equal(
      "calls during model(5), with pre-hooks that return input · 10, nothing, "
      "and input · 2",
      Log{"pre-hook 0(5)", "pre-hook 1(50)", "pre-hook 2(50)", "forward(100)"}, net.log,
      {"what a pre-hook returns is the input from then on: for the next "
       "pre-hook, and for forward",
       "Before forward"});
  exam.equal("the result of model(5)", std::string("300"), result,
             {"forward received 100 and returned 300", "Before forward"});
}

LESSON_TEST(13, hook_replaces, "a hook may replace the output") {
  Hooked net;
  net.hook(10);
  net.hook();
  net.hook(2);
  const std::string result = net.call(5);
  exam.equal(
      "calls during model(5), with hooks that return output · 10, nothing, and "
      "output · 2",
      Log{"forward(5)", "hook 0(5, 15)", "hook 1(5, 150)", "hook 2(5, 150)"}, net.log,
      {"what a hook returns is the output from then on: for the next hook, and "
       "for the caller",
       "After forward"});
  exam.equal("the result of model(5)", std::string("300"), result,
             {"the last hook that returned a tensor decides what model(x) returns",
              "After forward"});
}

LESSON_TEST(13, input_of_hooks, "hooks see the input that forward received") {
  Hooked net;
  net.pre_hook(10);
  net.hook();
  net.call(5);
  exam.equal("calls during model(5), with a pre-hook that returns input · 10",
             Log{"pre-hook 0(5)", "forward(50)", "hook 0(50, 150)"}, net.log,
             {"a hook that compares input and output must see those of forward: the "
              "replaced input, not the caller's",
              "After forward"});
}

LESSON_TEST(13, any_hooks, "the same holds for any number of hooks") {
  std::mt19937_64 random(exam.seed());
  for (int draw = 0; draw < 20; ++draw) {
    Hooked net;
    Log expected;
    const auto first = static_cast<double>(1 + random() % 9);
    double input = first;
    const auto pre_hooks = static_cast<int>(random() % 5);
    for (int i = 0; i < pre_hooks; ++i) {
      const auto times = static_cast<double>(random() % 4);
      net.pre_hook(times);
      expected.push_back(fmt::format("pre-hook {}({})", i, input));
      if (times != 0) input *= times;
    }
    expected.push_back(fmt::format("forward({})", input));
    double output = input * 3;
    const auto hooks = static_cast<int>(random() % 5);
    for (int i = 0; i < hooks; ++i) {
      const auto times = static_cast<double>(random() % 4);
      net.hook(times);
      expected.push_back(fmt::format("hook {}({}, {})", i, input, output));
      if (times != 0) output *= times;
    }
    const std::string drawn =
        fmt::format("{} pre-hooks and {} hooks (drawn with seed {})", pre_hooks, hooks,
                    exam.seed());
    const Because because{"the rule is the same for every hook of the list",
                          "After forward"};
    const std::string result = net.call(first);
    exam.equal("calls with " + drawn, expected, net.log, because);
    exam.equal("result with " + drawn, fmt::format("{}", output), result, because);
  }
}

LESSON_TEST(13, every_module, "inner modules have their hooks, and evaluation too") {
  for (const bool training : {true, false}) {
    const autograd::GradMode mode(training);
    Hooked net;
    net.pre_hook();
    net.hook(2);
    net.module.train(training);
    Outer outer(net.module);
    outer.train(training);
    const std::string result = shown(outer(on_device(5)));
    const std::string when = training ? "in training" : "in evaluation";
    const Because because{
        "every call of a module is the same chain: that of a layer inside of a model, "
        "with or without training",
        "The chain"};
    exam.equal("calls of a layer's hooks in a call of its model, " + when,
               Log{"pre-hook 0(5)", "forward(5)", "hook 0(5, 15)"}, net.log, because);
    exam.equal("the result of that model, " + when, std::string("30"), result, because);
  }
}

LESSON_TEST(13, exceptions, "what a hook or forward throws reaches the caller") {
  const std::vector<std::string> places = {"a pre-hook", "forward", "a hook"};
  for (const std::string& place : places) {
    const auto at = [&](const char* here) {
      if (place == here) throw std::range_error(std::string(here) + " throws");
      return Tensor();
    };
    Chosen module([&](const Tensor& input) {
      at("forward");
      return input;
    });
    module.register_forward_pre_hook(
        [&](nn::Module&, const Tensor&) { return at("a pre-hook"); });
    module.register_forward_hook(
        [&](nn::Module&, const Tensor&, const Tensor&) { return at("a hook"); });
    std::string caught = "nothing";
    try {
      module(on_device(5));
    } catch (const std::range_error& error) {
      caught = error.what();
    }
    exam.equal(fmt::format("what the caller catches if {} throws", place),
               place + " throws", caught,
               {"an exception is the caller's: model(x) has no result, so nothing may "
                "catch it on the way and go on",
                "The chain"});
  }
}

LESSON_TEST(13, at_once, "modules on two threads run at the same time") {
  Meeting meeting(2);
  const auto call = [&] {
    Chosen module([&](const Tensor& input) {
      meeting.arrive();
      return input;
    });
    module(on_device(5));
  };
  std::thread other(call);
  call();
  other.join();
  exam.equal("modules of 2 that had not begun while the first one waited for them", 0,
             meeting.missed(),
             {"replicas are called by several threads at once, each with variables of "
              "its own: there is nothing to lock",
              "Exercise"});
}

// --- in a training run ---

const char* const kStep =
    "-a resnet18 --dataset generated --device-type null --gpu 0 -b 2 --steps 1";

/// Returns the calls of modules, without those that only say which slot runs.
Events module_calls(const tracer::Trace& trace) {
  Events calls;
  for (const tracer::Event* event : events_of(trace, "call")) {
    if (text(*event, "slot").empty() && event->args.contains("module")) {
      calls.push_back(event);
    }
  }
  return calls;
}

/// Returns the innermost of `calls` that encloses this one, or null.
const tracer::Event* caller(const Events& calls, const tracer::Event& of) {
  const tracer::Event* innermost = nullptr;
  for (const tracer::Event* call : calls) {
    if (call == &of) break;  // sorted: those that enclose it come before it
    const bool same_thread = call->pid == of.pid && call->tid == of.tid;
    if (same_thread && call->end() >= of.end()) innermost = call;
  }
  return innermost;
}

const Because kTrains{"ResNet18 trains with your call; what it printed is below",
                      "What the trace shows"};

LESSON_TEST(13, chain, "each forward is called by _call_impl, and that by __call__") {
  const tracer::Trace& trace = exam.train(kStep, kTrains);
  const Events calls = module_calls(trace);
  const std::string likely =
      "each of the three levels records its own call, the inner ones within the outer "
      "ones: without that, nobody can see who called forward";
  size_t forwards = 0;
  for (const tracer::Event* call : calls) {
    const std::string name(call->name.view());
    const bool forward = name.ends_with(".forward");
    if (forward) ++forwards;
    const std::string wanted =
        forward ? "Module._call_impl"
                : std::string(name.substr(0, name.find('.'))) + ".__call__";
    if (!forward && name != "Module._call_impl") continue;
    const tracer::Event* by = caller(calls, *call);
    const std::string what =
        fmt::format("the caller of `{}` of module `{}`", name, text(*call, "module"));
    const std::string got =
        by ? fmt::format("{} of module `{}`", by->name.view(), text(*by, "module"))
           : "nobody";
    const bool same_module = by && text(*by, "module") == text(*call, "module");
    exam.that(same_module && (forward ? by->name == wanted
                                      : by->name.view().ends_with(".__call__")),
              what,
              fmt::format("{} of the same module",
                          forward ? "Module._call_impl" : "__call__"),
              got, {likely, "What the trace shows", call->id});
  }
  const Events expected = module_calls(exam.reference(kStep));
  exam.equal("recorded calls of forward, of ResNet18", expected.size() / 3, forwards,
             {likely, "What the trace shows"});
  exam.equal("recorded calls at all three levels, of ResNet18", expected.size(),
             calls.size(), {likely, "What the trace shows"});
}

LESSON_TEST(13, call_sites, "every call is recorded at its line of the model") {
  const auto sites = [](const tracer::Trace& trace) {
    Log all;
    for (const tracer::Event* call : module_calls(trace)) {
      if (!call->name.view().ends_with(".__call__")) continue;
      all.push_back(fmt::format("{} at {}:{}", call->name.view(), text(*call, "file"),
                                number(*call, "line")));
    }
    return all;
  };
  const Log expected = sites(exam.reference(kStep));
  const Log got = sites(exam.train(kStep, kTrains));
  for (size_t i = 0; i < std::min(expected.size(), got.size()); ++i) {
    exam.equal(fmt::format("call {} of a module in the step", i), expected[i], got[i],
               {"`site` is the line with `model(x)`: CallEvent takes it as its last "
                "argument, otherwise it records its own line",
                "What the trace shows"});
  }
}

// --- in the test itself ---

LESSON_TEST(13, events, "hooks run in _call_impl, and forward's event is forward's") {
  std::map<std::string, int64_t> inside;
  const tracer::Trace trace = recorded(1, [&] {
    const auto note = [&](const char* place) {
      inside[place] = tracer::innermost_event();
    };
    Chosen module([&](const Tensor& input) {
      note("forward");
      return input;
    });
    module.register_forward_pre_hook([&](nn::Module&, const Tensor&) {
      note("a pre-hook");
      return ops::copy_to(counting({4}), kDevice, {"h2d", "numbers"});
    });
    module.register_forward_hook([&](nn::Module&, const Tensor&, const Tensor&) {
      note("a hook");
      return Tensor();
    });
    module(on_device(5));
  });
  const std::string where =
      "an event lasts from its declaration to the end of the block: that of forward "
      "begins after the pre-hooks and ends before the hooks, and an object without a "
      "name ends at once";
  for (const auto& [place, id] : inside) {
    const tracer::Event* event =
        id == tracer::kNone ? nullptr : event_with_id(trace, id);
    exam.equal(fmt::format("the call that {} runs in", place),
               std::string(place == "forward" ? "Chosen.forward" : "Module._call_impl"),
               event ? std::string(event->name.view()) : "none",
               {where, "What the trace shows", id});
  }
  for (const tracer::Event* event : events_of(trace, "call", "Chosen.forward")) {
    exam.equal("the input that is recorded for forward, if a pre-hook has replaced it",
               std::string("[[4]]"), event->args["shapes"].dump(),
               {"forward's event records what forward receives", "What the trace shows",
                event->id});
  }
}

}  // namespace lockstep::lessons::lesson_13
