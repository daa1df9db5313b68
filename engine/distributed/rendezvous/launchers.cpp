#include "engine/distributed/rendezvous/launchers.h"

#include <fmt/format.h>

#include <array>
#include <stdexcept>
#include <vector>

#include "base/hash.h"
#include "base/socket.h"
#include "engine/distributed/rendezvous/frame.h"

namespace lockstep::distributed {
namespace {

/// A row of the table. Names are of variables; "" if the launcher has none.
struct Launcher {
  const char* name;
  const char* marker;  ///< set in every process that it starts
  const char *rank, *world, *local_rank, *local_world;
};

constexpr std::array<Launcher, 5> kTable{{
    {"torchrun", "TORCHELASTIC_RUN_ID", "RANK", "WORLD_SIZE", "LOCAL_RANK",
     "LOCAL_WORLD_SIZE"},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"MPICH", "PMI_RANK", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    // A batch script has SLURM_PROCID, too, but only srun's tasks have a step.
    {"Slurm", "SLURM_STEP_ID", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID",
     ""},
    {"the environment", "RANK", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
}};

class Reader {
 public:
  explicit Reader(const Variables& variables) : variables_(variables) {}

  std::string text(const std::string& name) const {
    const auto found = variables_.find(name);
    return found == variables_.end() ? "" : found->second;
  }
  bool has(const std::string& name) const { return !text(name).empty(); }

  std::optional<int> number(const std::string& name) const {
    if (!has(name)) return std::nullopt;
    const auto value = store::parse_number(text(name));
    if (value && *value >= 0 && *value <= 1'000'000) return static_cast<int>(*value);
    throw std::runtime_error(
        fmt::format("the environment variable {} is \"{}\", expected an integer; fix: "
                    "set it to an integer, or unset it",
                    name, store::shown(text(name))));
  }

  int required(const std::string& name, const std::string& beside) const {
    if (const auto value = number(name)) return *value;
    throw std::runtime_error(fmt::format(
        "the environment variable {} is set, but {} is not; fix: set both, or neither",
        beside, name));
  }

 private:
  const Variables& variables_;
};

void check_range(const Launched& found, const Launcher& row) {
  if (found.world >= 1 && found.rank < found.world) return;
  throw std::runtime_error(fmt::format(
      "{} is {}, but {} is {}: ranks go from 0 to the world size minus 1; fix: set "
      "both for this process",
      row.rank, found.rank, row.world, found.world));
}

/// Slurm gives the tasks of each node as a list.
std::optional<int> slurm_tasks(const Reader& read) {
  const auto node = read.number("SLURM_NODEID");
  if (!node) return std::nullopt;
  return tasks_of_node(read.text("SLURM_STEP_TASKS_PER_NODE"), *node);
}

bool is_slurm(const Launcher& row) { return std::string_view(row.name) == "Slurm"; }

bool is_plain(const Launcher& row) { return row.marker == kTable.back().marker; }

std::string job_of(const Reader& read, const Launcher& row) {
  const std::string name = row.name;
  if (is_slurm(row)) {
    return fmt::format("slurm {} {}", read.text("SLURM_JOB_ID"),
                       read.text("SLURM_STEP_ID"));
  }
  if (name == "torchrun") {
    return fmt::format("torchrun {} {} {} {}", read.text("TORCHELASTIC_RUN_ID"),
                       read.text("MASTER_ADDR"), read.text("MASTER_PORT"),
                       read.text("TORCHELASTIC_RESTART_COUNT"));
  }
  const std::string space = read.text("PMIX_NAMESPACE");
  return space.empty() ? "" : name + " " + space;
}

void find_rank_0(const Reader& read, const Launcher& row, Launched& found) {
  found.host = read.text("MASTER_ADDR");
  found.port = read.number("MASTER_PORT").value_or(0);
  found.port_is_taken = read.text("TORCHELASTIC_USE_AGENT_STORE") == "True" &&
                        std::string_view(row.name) == "torchrun";
  if (found.host.empty() && is_slurm(row)) {
    found.host = first_host(read.text("SLURM_STEP_NODELIST"));
  }
}

bool is_kubernetes(const Reader& read) {
  return read.has("KUBERNETES_SERVICE_HOST") || read.has("PET_NNODES");
}

Launched read_row(const Reader& read, const Launcher& row) {
  Launched found;
  found.by = row.name;
  found.is_plain = is_plain(row);
  if (found.is_plain && is_kubernetes(read)) found.by = "PyTorchJob";
  found.world_name = row.world;
  found.rank = read.required(row.rank, row.marker);
  found.world = read.required(row.world, row.marker);
  check_range(found, row);
  found.local_rank = read.number(row.local_rank);
  found.local_world = is_slurm(row) ? slurm_tasks(read) : read.number(row.local_world);
  found.job = job_of(read, row);
  find_rank_0(read, row, found);
  return found;
}

[[noreturn]] void disagree(const Launched& a, const Launcher& of_a, const Launched& b,
                           const Launcher& of_b) {
  throw std::runtime_error(fmt::format(
      "{} says that this is process {} of {} ({}, {}), but {} says {} of {} ({}, {}); "
      "fix: unset {} and {}, or set them for each process",
      a.by, a.rank, a.world, of_a.rank, of_a.world, b.by, b.rank, b.world, of_b.rank,
      of_b.world, of_b.rank, of_b.world));
}

}  // namespace

std::optional<Launched> launched_by(const Variables& variables) {
  const Reader read(variables);
  const Launcher* first = nullptr;
  Launched found;
  for (const Launcher& row : kTable) {
    if (!read.has(row.marker)) continue;
    if (is_plain(row) && !read.has(row.world))
      continue;  // env:// names what is missing
    if (!first) {
      first = &row;
      found = read_row(read, row);
      if (found.by == "torchrun") break;  // RANK and WORLD_SIZE are its own
      continue;
    }
    // mpirun inside a Slurm job: srun has started only mpirun's daemons.
    if (is_slurm(row)) continue;
    const Launched other = read_row(read, row);
    if (other.rank != found.rank || other.world != found.world) {
      disagree(found, *first, other, row);
    }
  }
  if (!first) return std::nullopt;
  return found;
}

const std::vector<std::string>& launcher_variables() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names{"MASTER_ADDR",
                                   "MASTER_PORT",
                                   "TORCHELASTIC_USE_AGENT_STORE",
                                   "TORCHELASTIC_RESTART_COUNT",
                                   "PMIX_NAMESPACE",
                                   "SLURM_JOB_ID",
                                   "SLURM_NODEID",
                                   "SLURM_STEP_NODELIST",
                                   "SLURM_STEP_TASKS_PER_NODE",
                                   "KUBERNETES_SERVICE_HOST",
                                   "PET_NNODES"};
    for (const Launcher& row : kTable) {
      for (const char* name :
           {row.marker, row.rank, row.world, row.local_rank, row.local_world}) {
        if (*name) names.emplace_back(name);
      }
    }
    return names;
  }();
  return all;
}

std::string endpoint_of(const Launched& launched) {
  if (launched.host.empty()) {
    throw std::runtime_error(fmt::format(
        "{} does not say on which machine rank 0 runs; fix: set MASTER_ADDR and "
        "MASTER_PORT for all processes (mpirun -x MASTER_ADDR=HOST -x "
        "MASTER_PORT=29500, or mpiexec -genv), or use --dist-url tcp://HOST:PORT",
        launched.by));
  }
  // Below the ports that systems hand out, so that rank 0 seldom finds it in use.
  constexpr int kFirst = 20'000, kPorts = 9'000, kPyTorchs = 29'500;
  int port = launched.port_is_taken ? 0 : launched.port;
  if (port == 0) {
    port = launched.job.empty()
               ? kPyTorchs
               : kFirst + static_cast<int>(fnv1a64(launched.job) % kPorts);
  }
  return tcp_url(launched.host, port).substr(std::string("tcp://").size());
}

std::string meeting_place(const Launched& launched, const std::string& folder,
                          const std::string& launcher_process) {
  if (launched.is_plain) return "env://";
  const bool has_port = launched.port > 0 && !launched.port_is_taken;
  if (!launched.host.empty() && has_port) return "env://";
  if (!launched.on_one_machine()) return "tcp://" + endpoint_of(launched);
  const uint64_t name = fnv1a64(launched.job + " " + launcher_process);
  return fmt::format("local://{}/{:016x}.port", folder, name);
}

std::string first_host(const std::string& hosts) {
  const size_t bracket = hosts.find('['), comma = hosts.find(',');
  if (bracket == hosts.npos || (comma != hosts.npos && comma < bracket)) {
    return hosts.substr(0, comma);
  }
  const size_t end = hosts.find_first_of("],-", bracket + 1);
  if (end == hosts.npos) return "";
  const size_t close = hosts.find(']', bracket);
  const size_t next = hosts.find(',', close);
  const std::string suffix =
      close == hosts.npos
          ? ""
          : hosts.substr(close + 1, next == hosts.npos ? hosts.npos : next - close - 1);
  return hosts.substr(0, bracket) + hosts.substr(bracket + 1, end - bracket - 1) +
         suffix;
}

std::optional<int> tasks_of_node(const std::string& list, int index) {
  size_t at = 0;
  while (at < list.size()) {
    size_t end = list.find(',', at);
    if (end == list.npos) end = list.size();
    const std::string part = list.substr(at, end - at);
    const size_t times = part.find("(x");
    const auto tasks = store::parse_number(part.substr(0, times));
    int64_t nodes = 1;
    if (times != part.npos) {
      nodes = store::parse_number(part.substr(times + 2, part.size() - times - 3))
                  .value_or(0);
    }
    if (!tasks || nodes < 1) return std::nullopt;
    if (index < nodes) return static_cast<int>(*tasks);
    index -= static_cast<int>(nodes);
    at = end + 1;
  }
  return std::nullopt;
}

}  // namespace lockstep::distributed
