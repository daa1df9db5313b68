// An exercise exists once, as its solution with marked regions; what learners get is
// made from it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::lessons {

/// Where a region begins and ends: `// [solution]` and `// [/solution]` (`#` in texts
/// that are no code), names beginning with `solution`.
/// The exercise without the lines of its solution regions: the skeleton. `name` is for
/// messages. Throws std::runtime_error for a region that is unclosed, opened twice, or
/// empty, and when there is none.
std::string skeleton_of(std::string_view exercise, const std::string& name);

/// The exercise without its markers and without what stands for missing code
/// (`lessons::not_written(…);`): the solution, to be read.
std::string solution_of(std::string_view exercise, const std::string& name);

}  // namespace lockstep::lessons
