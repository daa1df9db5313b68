// Sums tensors between two processes on one machine with our ring, Gloo or, if mpirun
// started the processes, MPI. Each line of rank 0's input, `BACKEND NUMEL REPEATS`, is
// a measurement, which rank 0 answers with three numbers: the seconds of an all-reduce,
// the CPU seconds of both ranks for it, and the share of the CPU that other programs
// had meanwhile. `backends` is answered with those that this build has.
//
//   collectives_bench
//   mpirun -np 2 collectives_bench
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "engine/distributed/collectives/make_communicator.h"
#include "engine/distributed/rendezvous/init_method.h"

namespace {

using namespace lockstep::distributed;  // NOLINT
using lockstep::DType;

constexpr int kRanks = 2;
constexpr lockstep::Milliseconds kPatience(3'600'000);  // for the next line

double wall_seconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

double own_cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// CPU seconds of all processes: /proc/stat without idle and iowait.
double machine_cpu_seconds() {
  std::ifstream stat("/proc/stat");
  std::string cpu;
  stat >> cpu;
  double busy = 0, value = 0;
  for (int i = 0; i < 8 && stat >> value; ++i) {
    if (i != 3 && i != 4) busy += value;
  }
  return busy / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

/// A rank's communicators and the number of the next collective.
struct Rank {
  int rank;
  std::vector<std::string> names;
  std::vector<std::unique_ptr<Communicator>> ways;  ///< the first is the ring
  int64_t seq = 0;

  void all_reduce(Communicator& way, Buffer data) {
    Collective call;
    call.name = "all_reduce";
    call.seq = seq++;
    call.bytes = data.bytes();
    way.all_reduce(data, ReduceOp::sum, call);
  }
  double sum_over_ranks(double value) {
    all_reduce(*ways.front(), {&value, 1, DType::f64});
    return value;
  }
};

struct Sample {
  double seconds, cpu, foreign;
};

Sample take(Rank& rank, Communicator& way, int64_t numel, int64_t repeats) {
  std::vector<float> values(numel, 1.0f);
  const Buffer data{values.data(), numel, DType::f32};
  rank.all_reduce(way, data);  // warms up and synchronizes
  std::fill(values.begin(), values.end(), 0.0f);
  rank.sum_over_ranks(0);
  const double machine = machine_cpu_seconds(), own = own_cpu_seconds();
  const double start = wall_seconds();
  for (int64_t i = 0; i < repeats; ++i) rank.all_reduce(way, data);
  const double seconds = wall_seconds() - start;
  const double ours = rank.sum_over_ranks(own_cpu_seconds() - own);
  const double others = machine_cpu_seconds() - machine - ours;
  const auto cores = static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN));
  const auto count = static_cast<double>(repeats);
  return {seconds / count, ours / count, std::max(0.0, others / (seconds * cores))};
}

/// What rank 0 was asked for, which it tells the other one; nothing at the input's end.
struct Order {
  double way = -1, numel = 0, repeats = 0;
};

Order next_order(Rank& rank) {
  Order order;
  std::string line, name;
  while (rank.rank == 0 && order.way < 0 && std::getline(std::cin, line)) {
    std::istringstream(line) >> name >> order.numel >> order.repeats;
    const auto found = std::find(rank.names.begin(), rank.names.end(), name);
    if (found != rank.names.end()) {
      order.way = static_cast<double>(found - rank.names.begin());
    } else {
      fmt::print("{}\n", fmt::join(rank.names, " "));
      std::fflush(stdout);
    }
  }
  rank.ways.front()->broadcast({&order, 3, DType::f64}, 0, [&] {
    Collective call;
    call.name = "broadcast";
    call.seq = rank.seq++;
    call.bytes = sizeof order;
    return call;
  }());
  return order;
}

void serve(Rank& rank) {
  for (Order order = next_order(rank); order.way >= 0; order = next_order(rank)) {
    const Sample sample =
        take(rank, *rank.ways[static_cast<size_t>(order.way)],
             static_cast<int64_t>(order.numel), static_cast<int64_t>(order.repeats));
    if (rank.rank > 0) continue;
    fmt::print("{:.9f} {:.9f} {:.3f}\n", sample.seconds, sample.cpu, sample.foreign);
    std::fflush(stdout);
  }
}

}  // namespace

int main() {
  const char* mpi_rank = std::getenv("OMPI_COMM_WORLD_RANK");
  const std::string file = fmt::format("/tmp/lockstep_collectives_bench.{}",
                                       mpi_rank ? ::getppid() : ::getpid());
  Rank rank{mpi_rank ? std::atoi(mpi_rank) : ::fork() == 0 ? 1 : 0, {}, {}, 0};
  try {
    const auto store =
        make_store(parse_init_method("file://" + file, rank.rank, kRanks), rank.rank,
                   kRanks, lockstep::Milliseconds(60'000));
    for (const std::string backend : {"ring", "gloo", "mpi"}) {
      if (backend == "gloo" && !has_gloo()) continue;
      if (backend == "mpi" && mpi_rank == nullptr) continue;
      rank.names.push_back(backend);
      rank.ways.push_back(make_communicator(
          {backend, store, "127.0.0.1", rank.rank, kRanks, kPatience}));
    }
    serve(rank);
  } catch (const std::exception& error) {
    fmt::print(stderr, "rank {}: {}\n", rank.rank, error.what());
    return 1;
  }
  if (rank.rank == 1) return 0;
  int status = 0;
  if (mpi_rank == nullptr) ::wait(&status);
  std::filesystem::remove(file);
  return status == 0 ? 0 : 1;
}
