// Measures how fast two processes on one machine sum a tensor, alternating between our
// ring, Gloo and, if mpirun started the processes, MPI.
//   collectives_bench [ROUNDS]
//   mpirun -np 2 collectives_bench [ROUNDS]
// Prints algorithm bandwidth (bytes of the tensor per second) and ratios; checks no
// limits.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "engine/distributed/collectives/make_communicator.h"
#include "engine/distributed/rendezvous/init_method.h"

namespace {

using namespace lockstep::distributed;  // NOLINT
using lockstep::DType;

constexpr int kRanks = 2;
constexpr double kDirty = 0.06;  ///< maximum CPU share of others in a sample

/// A tensor size, and the number of all-reduces per sample.
struct Case {
  const char* name;
  int64_t numel, repeats;
};
constexpr Case kCases[] = {{"1 KB", 250, 4000},       {"64 KB", 16'000, 2000},
                           {"1 MB", 250'000, 400},    {"8 MB", 2'000'000, 50},
                           {"45 MB", 11'173'962, 10}, {"400 MB", 100'000'000, 1}};

struct Sample {
  double seconds = 0, foreign = 0;
};

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
  std::map<std::string, std::unique_ptr<Communicator>> by_backend;
  int64_t seq = 0;

  void all_reduce(Communicator& way, Buffer data) {
    Collective call;
    call.name = "all_reduce";
    call.seq = seq++;
    call.bytes = data.bytes();
    way.all_reduce(data, ReduceOp::sum, call);
  }
  double sum_over_ranks(double value) {
    all_reduce(*by_backend.at("ring"), {&value, 1, DType::f64});
    return value;
  }
};

Sample take(Rank& rank, const std::string& backend, const Case& the,
            std::vector<float>& values) {
  Communicator& way = *rank.by_backend.at(backend);
  const Buffer data{values.data(), the.numel, DType::f32};
  std::fill(values.begin(), values.end(), 1.0f);
  rank.all_reduce(way, data);  // warms up and synchronizes
  std::fill(values.begin(), values.end(), 0.0f);
  rank.sum_over_ranks(0);
  const double machine = machine_cpu_seconds(), own = own_cpu_seconds();
  const double start = wall_seconds();
  for (int64_t i = 0; i < the.repeats; ++i) rank.all_reduce(way, data);
  const double seconds = wall_seconds() - start;
  const double ours = rank.sum_over_ranks(own_cpu_seconds() - own);
  const double others = machine_cpu_seconds() - machine - ours;
  const auto cores = static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN));
  return {seconds / static_cast<double>(the.repeats),
          std::max(0.0, others / (seconds * cores))};
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

void report(const Case& the, std::map<std::string, std::vector<Sample>>& samples) {
  const auto bytes = static_cast<double>(the.numel * 4);
  for (const auto& [backend, all] : samples) {
    std::vector<double> clean;
    double foreign = 0;
    for (const Sample& sample : all) {
      if (sample.foreign <= kDirty) clean.push_back(sample.seconds);
      foreign = std::max(foreign, sample.foreign);
    }
    fmt::print("{:>6} {:>5}: ", the.name, backend);
    if (clean.empty()) {
      fmt::print("no clean sample");
    } else {
      fmt::print("{:6.2f} GB/s, {:.3f} ms", bytes / median(clean) * 1e-9,
                 median(clean) * 1e3);
    }
    fmt::print(" ({} clean of {}, others' CPU at most {:.0f} %)\n", clean.size(),
               all.size(), 100 * foreign);
  }
  for (const auto& [peer, all] : samples) {
    if (peer == "ring") continue;
    std::vector<double> ratios;  // disturbances affect both samples of a round
    for (size_t i = 0; i < all.size(); ++i) {
      ratios.push_back(all[i].seconds / samples["ring"][i].seconds);
    }
    const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
    fmt::print(
        "{:>6} ring is {:.2f} times as fast as {} ({:.2f}–{:.2f} over turns, "
        "dirty ones too)\n",
        the.name, median(ratios), peer, *low, *high);
  }
}

void run(Rank& rank, int rounds) {
  for (const Case& the : kCases) {
    std::vector<float> values(the.numel);
    std::map<std::string, std::vector<Sample>> samples;
    for (int round = 0; round < rounds; ++round) {
      for (const auto& [backend, communicator] : rank.by_backend) {
        samples[backend].push_back(take(rank, backend, the, values));
      }
    }
    if (rank.rank == 0) report(the, samples);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 5;
  const char* mpi_rank = std::getenv("OMPI_COMM_WORLD_RANK");
  const std::string file = fmt::format("/tmp/lockstep_collectives_bench.{}",
                                       mpi_rank ? ::getppid() : ::getpid());
  Rank rank{mpi_rank ? std::atoi(mpi_rank) : ::fork() == 0 ? 1 : 0, {}, 0};
  try {
    const auto store =
        make_store(parse_init_method("file://" + file, rank.rank, kRanks), rank.rank,
                   kRanks, lockstep::Milliseconds(60'000));
    for (const std::string backend : {"ring", "gloo", "mpi"}) {
      if (backend == "gloo" && !has_gloo()) continue;
      if (backend == "mpi" && mpi_rank == nullptr) continue;
      rank.by_backend[backend] =
          make_communicator({backend, store, "127.0.0.1", rank.rank, kRanks});
    }
    run(rank, rounds);
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
