// Whether a learner's source can inject text into the assembler input that the compiler
// writes: through inline assembly, asm labels, section names or `#ident`.
#pragma once

#include <string>
#include <string_view>

namespace lockstep::lessons {

/// Returns why a text is not plain C++, as "uses `__asm__`"; "" if it is. Refuses
/// reserved names but a few, attributes that name symbols or sections, and what could
/// hide either: `##`, `\u` in names, pragmas, and directives that no exercise needs.
/// Ignores comments and literals. A name in a macro counts where it is written.
std::string not_plain(std::string_view text);

}  // namespace lockstep::lessons
