// An exercise is stored only once, as its solution with marked regions; the skeleton
// for learners is derived from it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::lessons {

/// Regions are delimited by `// [solution]` and `// [/solution]` (`#` in text files);
/// names begin with `solution`.
/// Returns the exercise without the lines of its solution regions: the skeleton. `name`
/// is for messages. Throws std::runtime_error if a region is unclosed, opened twice or
/// empty, or if there is none.
std::string skeleton_of(std::string_view exercise, const std::string& name);

/// Returns the solution: the exercise without markers and without the placeholders for
/// missing code (`lessons::not_written(…);`, `raise NotImplementedError(…)`).
std::string solution_of(std::string_view exercise, const std::string& name);

}  // namespace lockstep::lessons
