// `lesson check --grade`: judges an untrusted learner's file in a sandbox.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lessons/machine/judge.h"
#include "lessons/machine/signature.h"

namespace lockstep::lessons {

struct Grade {
  Verdict verdict;
  std::string submission;  ///< the text that was judged
  uint64_t seed = 0;       ///< of the tests' random numbers
  std::string sandbox;     ///< `bubblewrap 0.8.0`
};

/// Builds and judges the learner's file in a sandbox that contains neither keys nor the
/// workspace nor the sources of solutions and tests. Writes nothing to the workspace.
/// Throws std::runtime_error with the fix if no sandbox can be created here, or if the
/// file is missing, not a regular file in the workspace, or larger than 1 MiB.
Grade grade(const Workspace& workspace, const Lesson& lesson);

/// Returns the signed result described in docs/lesson-result.md, as a file's text.
std::string signed_result(const Lesson& lesson, const Grade& grade, const Key& key);

/// Returns the content of a result that `key` signed, without its signature. Throws
/// std::runtime_error, with the fix, if the file is not a result, was changed, or was
/// signed with another key.
nlohmann::ordered_json verified_result(const std::filesystem::path& file,
                                       const Key& key);

}  // namespace lockstep::lessons
