// The names in a library's dynamic symbol table, read without loading it.
#pragma once

#include <string>
#include <vector>

namespace lockstep::lessons {

struct Symbols {
  std::vector<std::string> used;     ///< defined elsewhere, for example in the engine
  std::vector<std::string> defined;  ///< here
};

/// Returns the names, C++ names without their parameter lists; none for a damaged file.
Symbols symbols_of(const std::string& library);

/// Returns whether a graded exercise may use this name: whether it belongs to C++, or
/// to the part of C that computes, allocates or prints.
bool is_harmless(const std::string& name);

}  // namespace lockstep::lessons
