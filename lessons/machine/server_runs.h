// Lesson 22's parameter servers in runs: with tensors, with workers of all speeds, and
// in a training.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "engine/ops/copy.h"
#include "engine/optim/sgd.h"
#include "engine/sharing/parameter_servers.h"
#include "lessons/machine/predicates.h"
#include "lessons/machine/server_by_hand.h"

namespace lockstep::lessons {

/// Random numbers on a device.
inline Tensor on_device(const std::vector<double>& numbers, Device device) {
  return ops::copy_to(
      Tensor::from(numbers, {static_cast<int64_t>(numbers.size())}, DType::f64), device,
      {"h2d", "test"});
}

inline Device reference(int index) { return {DeviceType::reference, index}; }

inline std::vector<double> drawn(size_t count, std::mt19937_64& random) {
  std::vector<double> numbers(count);
  for (double& x : numbers) x = std::uniform_real_distribution(-1.0, 1.0)(random);
  return numbers;
}

/// Some workers, each with an order of pushes, and two servers after them.
struct Servers {
  Servers(int workers, sharing::Consistency consistency,
          const std::vector<double>& weights, const optim::AnyOptions& optimizer)
      : workers(workers),
        count(weights.size()),
        all({reference(workers), reference(workers + 1)}, workers, {consistency}) {
    const auto keys = static_cast<int64_t>(count);
    const Tensor a = Tensor::empty({keys - 2}, reference(0), DType::f64);
    const Tensor b = Tensor::empty({2}, reference(0), DType::f64);
    all.begin({{"a", a}, {"b", b}}, on_device(weights, reference(0)), optimizer, {});
  }
  std::vector<double> pull(int worker) {
    const Tensor flat = on_device(std::vector<double>(count), reference(worker));
    all.pull(worker, flat);
    return values(flat);
  }
  void push(int worker, const std::vector<double>& gradient, double lr) {
    all.push(worker, on_device(gradient, reference(worker)), lr);
  }
  const int workers;
  const size_t count;
  sharing::ParameterServers all;
};

/// Throws Wrong unless one worker's training is that of plain SGD, bit by bit.
inline void expect_plain_sgd(const Exam& exam, const char* word,
                             sharing::Consistency consistency) {
  std::mt19937_64 random(exam.seed());
  const std::vector<double> begin = drawn(6, random);
  const optim::SgdOptions sgd{0.1, 0.9, 1e-2};
  Servers servers(1, consistency, begin, sgd);
  const Tensor plain = on_device(begin, reference(0));
  optim::Sgd optimizer({{"plain", plain}}, sgd);
  for (int step = 0; step < 5; ++step) {
    const std::vector<double> gradient = drawn(6, random);
    servers.pull(0);
    servers.push(0, gradient, sgd.lr);
    plain.set_grad(on_device(gradient, reference(0)));
    optimizer.step();
  }
  exam.close(
      fmt::format("weights after 5 steps of one worker with {}, bit by bit those of "
                  "plain SGD (seed {})",
                  word, exam.seed()),
      values(plain), servers.pull(0), 0,
      {"one gradient makes an update as it is: a scale of 1",
       "Each gradient an update"});
}

/// What workers of a server do that take as long for a step as they are given.
struct Paced {
  int64_t furthest = 0;  ///< by how many steps one was ahead when it pulled
  int64_t least = 0;     ///< steps of the slowest
};

/// Lets workers pull and push for 300 units of time. Worker w takes `takes[w]`.
inline Paced paced(ServerByHand& server, const std::vector<int64_t>& takes) {
  const int workers = static_cast<int>(takes.size());
  const auto slowest = [&] {
    int64_t clock = server.clock(0);
    for (int w = 1; w < workers; ++w) clock = std::min(clock, server.clock(w));
    return clock;
  };
  std::vector<int64_t> busy_until(workers, -1);
  Paced paced;
  for (int64_t now = 0; now < 300; ++now) {
    for (int w = 0; w < workers; ++w) {
      if (busy_until[w] == now) server.push(w), busy_until[w] = -1;
    }
    for (int w = 0; w < workers; ++w) {
      if (busy_until[w] >= 0 || !server.may_pull(w)) continue;
      server.pull(w);
      busy_until[w] = now + takes[w];
      paced.furthest = std::max(paced.furthest, server.clock(w) - slowest());
    }
  }
  paced.least = slowest();
  return paced;
}

/// Returns the staleness of worker 0's gradient, which it computes when it is `bound`
/// steps ahead, while all others make as many steps as they may.
inline int64_t stalest(int workers, int64_t bound) {
  ServerByHand server(workers, {sharing::Consistency::ssp, bound});
  for (int64_t i = 0; i < bound; ++i) server.pull(0), server.push(0);
  server.pull(0);
  for (bool moved = true; moved;) {
    moved = false;
    for (int other = 1; other < workers; ++other) {
      if (!server.may_pull(other)) continue;
      server.push(other);
      moved = true;
    }
  }
  return server.version() - server.read_version(0);
}

/// The updates in a trace: those of server 0, in the order of their versions.
struct Made {
  int64_t worker, read_version, version;
};

inline std::vector<Made> updates_of(const tracer::Trace& trace) {
  std::vector<Made> all;
  for (const tracer::Event* phase : events_of(trace, "phase", "optimizer")) {
    if (!phase->args.contains("version") || number(*phase, "server") != 0) continue;
    all.push_back({number(*phase, "worker"), number(*phase, "read_version"),
                   number(*phase, "version")});
  }
  std::ranges::sort(all, {}, &Made::version);
  return all;
}

inline int64_t staleness_of(const std::vector<Made>& made) {
  int64_t sum = 0;
  for (const Made& one : made) sum += one.version - 1 - one.read_version;
  return sum;
}

}  // namespace lockstep::lessons
