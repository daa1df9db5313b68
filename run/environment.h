// The environment of a process: its command line, and the variables that make it one
// rank of a job. `env://` is resolved by engine/distributed/rendezvous/init_method.cpp.
// Also defines the error for an invalid command line.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace lockstep::run {

/// Names of our own variables and of torchrun's.
namespace variable {
inline constexpr const char* kRank = "LOCKSTEP_RANK";
inline constexpr const char* kWorld = "LOCKSTEP_WORLD";
inline constexpr const char* kLocalRank = "LOCKSTEP_LOCAL_RANK";
inline constexpr const char* kLocalWorld = "LOCKSTEP_LOCAL_WORLD";
inline constexpr const char* kInit = "LOCKSTEP_INIT";
inline constexpr const char* kInterface = "GLOO_SOCKET_IFNAME";  // as in PyTorch
inline constexpr const char* kRestart = "TORCHELASTIC_RESTART_COUNT";
inline constexpr const char* kTorchRank = "RANK";
inline constexpr const char* kTorchWorld = "WORLD_SIZE";
inline constexpr const char* kTorchLocalRank = "LOCAL_RANK";
}  // namespace variable

struct Environment {
  std::vector<std::string> arguments;            ///< starting with the program's name
  std::map<std::string, std::string> variables;  ///< those of the above that are set

  /// Returns the arguments without the program's name, for the trace.
  std::string command_line() const;

  bool has(const char* name) const { return variables.contains(name); }
  /// Returns the variable's value; empty if it is not set.
  std::string text(const char* name) const;
  /// Returns the variable as an integer, or `otherwise` if it is unset or empty. Throws
  /// std::runtime_error naming the variable if its value is not an integer.
  int number(const char* name, int otherwise) const;

  /// Returns whether spawn_ranks() or `launch` started this process as a rank.
  bool is_launched_rank() const { return has(variable::kRank); }
};

Environment read_environment();

/// Invalid usage: the program exits with code 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace lockstep::run
