// Image folders on the command line: what DIR holds, and what is done about bad files.
#pragma once

#include <functional>
#include <string>

#include "cli/run_options.h"

namespace lockstep::cli {

/// DIR/train/<class>/* and DIR/val/<class>/*, with the ImageNet example's transforms.
/// Labels of both are positions among the classes of train/. Throws std::runtime_error
/// naming what is missing.
DataSets open_image_folders(const RunOptions& options);

/// `--on-bad-image`: for DataLoaders. `error` gives nothing, so that they throw; `skip`
/// counts, and names each file on stderr when it is met first (20 files at most).
/// Thread-safe: ranks may be threads.
std::function<void(const std::string& why)> on_bad_image(const RunOptions& options);

/// How many pictures this process has skipped so far.
int64_t skipped_images();

}  // namespace lockstep::cli
