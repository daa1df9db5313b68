// What a process is started with: its command line, and the variables that make it one
// rank of a job. They are read here and nowhere else.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace lockstep::run {

/// The names of our own variables and of torchrun's.
namespace variable {
inline constexpr const char* kRank = "LOCKSTEP_RANK";
inline constexpr const char* kWorld = "LOCKSTEP_WORLD";
inline constexpr const char* kLocalRank = "LOCKSTEP_LOCAL_RANK";
inline constexpr const char* kLocalWorld = "LOCKSTEP_LOCAL_WORLD";
inline constexpr const char* kInit = "LOCKSTEP_INIT";
inline constexpr const char* kTorchRank = "RANK";
inline constexpr const char* kTorchWorld = "WORLD_SIZE";
inline constexpr const char* kTorchLocalRank = "LOCAL_RANK";
}  // namespace variable

struct Environment {
  std::vector<std::string> arguments;  ///< the program first
  std::map<std::string, std::string>
      variables;  ///< of those above the ones that are set

  /// The arguments after the program, for the trace.
  std::string command_line() const;

  bool has(const char* name) const { return variables.contains(name); }
  /// The variable's text; empty if it is not set.
  std::string text(const char* name) const;
  /// The variable as an integer; `otherwise` if it is unset or empty. Throws
  /// std::runtime_error naming the variable if it holds anything else.
  int number(const char* name, int otherwise) const;

  /// Whether spawn_ranks() or `launch` started this process as a rank.
  bool is_launched_rank() const { return has(variable::kRank); }
};

Environment read_environment();

}  // namespace lockstep::run
