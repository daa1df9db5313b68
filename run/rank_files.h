// The files of a job whose ranks are processes: each rank writes its own trace, and
// rank 0 merges them. Ranks tell each other through their store. Thread-safe.
#pragma once

#include <string>

#include "engine/distributed/rendezvous/store.h"
#include "run/config.h"

namespace lockstep::run {

/// Returns `run.rank1.json` for `run.json`.
std::string rank_file(const std::string& path, int rank);

/// Tells rank 0 that this rank has written its trace `file` ("": none was asked for),
/// or that there is none: it may have been interrupted before the first traced step.
void tell_of_trace(distributed::Store& store, const std::string& file, int rank);

/// For rank 0: merges the ranks' traces into `--trace`, if they are all on this
/// machine. Waits for at most `timeout` for each of the `world` ranks. Throws
/// StoreTimeout, and std::runtime_error if a file cannot be read or written.
void merge_rank_files(const RunConfig& config, int world, distributed::Store& store,
                      Milliseconds timeout);

/// Prints, after a failure, how to see what the `count` ranks from `first` on have
/// recorded, if that is more than one file.
void say_what_is_left(const std::string& trace, int first, int count);

/// For rank 0: tells the others that all files have been written.
void tell_of_files(distributed::Store& store);

/// Waits until rank 0 has written all files, for at most a minute. Does not throw.
/// After a signal, the other ranks call this before they exit: when the first one exits
/// with an error, a launcher may end all of them within two seconds, as mpirun does.
void wait_for_files(distributed::Store& store);

}  // namespace lockstep::run
