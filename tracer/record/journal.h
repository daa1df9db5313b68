// The journal: a file with what has been recorded so far, which outlives its process.
//
// While a journal is open, the recorder's buffers lie in the file, mapped into memory:
// nothing is written twice, and a killed process loses no event, since the system keeps
// the pages of the file. (It does not survive a power failure.) Blocks that are full
// need not stay in memory. Reading the file yields a trace that ends with the last step
// that all of its ranks have completed.
#pragma once

#include <string>

#include "tracer/format/file_io.h"
#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// Returns the name of the journal of a trace: `FILE.partial`.
std::string journal_of(const std::string& trace);

/// Puts what is recorded from now on into the file `path`, which is replaced. `head`
/// describes the run: `lockstep` and `other` of the trace. Events of this process that
/// were not collected before are not in the file. Returns why there is no journal, or
/// an empty string; then, as when the disk is full later, recording goes on in memory.
/// No thread may be recording.
std::string open_journal(const std::string& path, const Trace& head);

/// Says that a step is not part of the trace (its batch was skipped).
void leave_out_of_journal(int64_t step);

/// Closes the journal: what is recorded later is not in its file. `remove_journal` also
/// removes the file: the trace is written. Both do nothing if none is open. No thread
/// may be recording.
void close_journal();
void remove_journal();

/// Returns the file of the open journal; empty if none is open.
std::string open_journal_file();

/// Returns whether a file begins as a journal does.
bool is_journal(std::string_view text);

/// Returns the trace that a journal holds. `lockstep.partial` says what is missing (see
/// tracer/format/partial.h). Throws std::runtime_error naming the file, and the fix, if
/// it is damaged or holds no complete step.
Trace read_journal(std::string_view text, const std::string& name);

/// Like `open_file_text`, but returns a journal as the text of its trace.
FileText open_trace_text(const std::string& path, size_t most = SIZE_MAX,
                         Ending ending = Ending::whole);

}  // namespace lockstep::tracer
