#include "engine/train/checkpoint.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <stdexcept>
#include <vector>

#include "engine/distributed/collectives/small_collectives.h"
#include "engine/ops/ops.h"
#include "engine/train/weight_files.h"

namespace lockstep::train {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw std::runtime_error(path + ": " + what);
}

/// Returns the number of dropout masks drawn per device, gathered from all ranks.
std::vector<int64_t> dropout_calls(Trainer& trainer) {
  const TrainerOptions& options = trainer.options();
  std::vector<int64_t> mine;
  for (Device device : options.devices) {
    mine.push_back(static_cast<int64_t>(ops::dropout_calls(device)));
  }
  if (!options.group) return mine;
  std::vector<int64_t> of_all;
  for (const auto& calls : distributed::gather_integers(
           *options.group, options.devices[0], mine, "checkpoint")) {
    of_all.push_back(calls[0]);
  }
  return of_all;
}

/// Sets the number of dropout masks drawn. A device that is not in the checkpoint
/// starts at the largest count in it.
void set_dropout_calls(const Trainer& trainer, const std::vector<int64_t>& calls) {
  if (calls.empty()) return;
  const TrainerOptions& options = trainer.options();
  for (size_t i = 0; i < options.devices.size(); ++i) {
    const size_t place = options.group ? options.group->rank() : i;
    const int64_t count = place < calls.size()
                              ? calls[place]
                              : *std::max_element(calls.begin(), calls.end());
    ops::set_dropout_calls(options.devices[i], static_cast<uint64_t>(count));
  }
}

/// Returns whether `order` contains each of the indices 0 … count − 1 exactly once.
bool is_permutation(const std::vector<size_t>& order, size_t count) {
  const std::set<size_t> seen(order.begin(), order.end());
  return order.size() == count && seen.size() == count && *seen.rbegin() + 1 == count;
}

void require_undamaged(const CheckpointHeader& header,
                       const data::TensorFileEntry& entry, const std::string& path) {
  const auto found = header.checksums.find(entry.name);
  if (found != header.checksums.end() && found->second == checksum(entry)) return;
  refuse(
      path,
      "tensor '" + entry.name +
          "' is damaged (its checksum differs); fix: resume from another checkpoint");
}

/// Returns the tensors of the file that belong to the optimizer, under the names of its
/// parameters. Throws if they are those of another optimizer.
std::vector<nn::Named<Tensor>> state_in_file(Trainer& trainer, Entries state,
                                             const std::string& path) {
  const std::vector<std::string>& parts = trainer.optimizer().state_names();
  std::vector<nn::Named<Tensor>> found, like;
  for (const auto& [name, parameter] : trainer.model()->named_parameters()) {
    const std::string plain = "." + without_module(name);
    if (std::none_of(parts.begin(), parts.end(), [&](const std::string& part) {
          return state.contains(part + plain);
        })) {
      continue;  // had no gradient when saved
    }
    for (const std::string& part : parts) {
      const Tensor shape =
          part == "step" ? Tensor::unset({{}, DType::i64, nullptr}) : parameter;
      if (!state.contains(part + plain)) {
        refuse(path, "has no '" + kOptimizer + part + plain +
                         "'; fix: resume with the same --optimizer and options as the "
                         "saved run");
      }
      like.push_back({part + plain, shape});
      found.push_back({part + "." + name, shape});
    }
  }
  if (found.empty() && !state.empty()) {
    refuse(path, "has the state of another optimizer ('" + kOptimizer +
                     state.begin()->first +
                     "'); fix: resume with the --optimizer that it was saved with");
  }
  require_fitting(state, like, path);
  for (size_t i = 0; i < found.size(); ++i) {
    found[i].value = to_tensor(state.at(like[i].name), like[i].value.dtype());
  }
  return found;
}

/// Returns the average in the file; nothing if there is none, or if the run has none.
std::vector<nn::Named<Tensor>> average_in_file(Trainer& trainer, Entries average,
                                               const std::string& path) {
  std::vector<nn::Named<Tensor>> found;
  if (average.empty() || !trainer.average()) return found;
  found.push_back(
      {optim::WeightAverage::kSteps, Tensor::unset({{}, DType::i64, nullptr})});
  for (const auto& named : trainer.average()->weights()) {
    // Before the first average there is only the number of steps.
    if (average.size() > 1) found.push_back(named);
  }
  std::vector<nn::Named<Tensor>> like = found;
  for (auto& [name, tensor] : like) name = without_module(name);
  require_fitting(average, like, path);
  for (size_t i = 0; i < found.size(); ++i) {
    found[i].value = to_tensor(average.at(like[i].name), like[i].value.dtype());
  }
  return found;
}

}  // namespace

Snapshot take_snapshot(const Progress& progress, Trainer& trainer) {
  trainer.collect_stages();
  const std::vector<int64_t> calls = dropout_calls(trainer);
  if (trainer.options().group && trainer.options().group->rank() != 0) return {};

  std::vector<data::TensorFileEntry> entries;
  for (const auto& [name, tensor] : all_tensors(*trainer.model())) {
    entries.push_back(to_entry(name, tensor));
  }
  for (const auto& [name, tensor] : trainer.optimizer_state()) {
    entries.push_back(to_entry(kOptimizer + without_module(name), tensor));
  }
  if (trainer.average()) {
    for (const auto& [name, tensor] : trainer.average()->state()) {
      entries.push_back(to_entry(kAverage + without_module(name), tensor));
    }
  }
  CheckpointHeader header{progress, calls, {}, {}};
  if (trainer.sharing()) header.sharing_steps = trainer.sharing()->steps_done();
  if (trainer.ddp()) header.ready_order = trainer.ddp()->gradient_sync().ready_order();
  for (const auto& entry : entries) header.checksums[entry.name] = checksum(entry);
  return {std::move(entries), format_header(header)};
}

void save_checkpoint(const std::string& path, const Snapshot& snapshot) {
  data::write_safetensors(path, snapshot.tensors, snapshot.metadata);
}

Progress read_progress(const std::string& path) {
  return parse_header(read_weight_metadata(path), path).progress;
}

Progress load_checkpoint(const std::string& path, Trainer& trainer) {
  data::Metadata metadata;
  auto file = read_weight_file(path, &metadata);
  const CheckpointHeader header = parse_header(metadata, path);
  Entries model, state, average;
  for (data::TensorFileEntry& entry : file) {
    require_undamaged(header, entry, path);
    Entries* of = &model;
    std::string name = entry.name;
    for (const auto& [begin, others] :
         {std::pair(kOptimizer, &state), {kAverage, &average}}) {
      if (!entry.name.starts_with(begin)) continue;
      name = entry.name.substr(begin.size());
      of = others;
    }
    (*of)[name] = std::move(entry);
  }
  const auto tensors = all_tensors(*trainer.model());
  require_fitting(model, tensors, path);

  const auto optimizer = state_in_file(trainer, std::move(state), path);
  const auto averages = average_in_file(trainer, std::move(average), path);

  assign(model, tensors);
  trainer.optimizer().set_state(optimizer);
  if (trainer.average()) trainer.average()->set_state(averages);
  set_dropout_calls(trainer, header.dropout_calls);
  if (trainer.sharing()) trainer.sharing()->set_steps_done(header.sharing_steps);
  if (trainer.ddp() &&
      is_permutation(header.ready_order, trainer.model()->parameters().size())) {
    trainer.ddp()->gradient_sync().set_ready_order(header.ready_order);
  }
  return header.progress;
}

namespace {

/// Matches `.checkpoint.safetensors.3f2c09d1.tmp`; see base/file.h.
bool is_leftover(const std::string& name) {
  return name.ends_with(".tmp") && (name.starts_with(".checkpoint.safetensors.") ||
                                    name.starts_with(".model_best.safetensors."));
}

}  // namespace

CheckpointFolder::CheckpointFolder(const fs::path& folder) : folder_(folder) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) {
    throw std::runtime_error("--checkpoint " + folder_.string() +
                             ": cannot be created: " + error.message() +
                             "; fix: choose another folder");
  }
  lock_ = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ < 0 || ::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    const std::string why =
        lock_ >= 0 && errno == EWOULDBLOCK
            ? "another run is writing its checkpoints there; fix: "
              "choose another folder"
            : std::string(std::strerror(errno)) + "; fix: choose another folder";
    if (lock_ >= 0) ::close(lock_);
    throw std::runtime_error("--checkpoint " + folder_.string() + ": " + why);
  }
  std::vector<fs::path> leftovers;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    if (is_leftover(entry.path().filename().string())) leftovers.push_back(entry);
  }
  for (const fs::path& leftover : leftovers) fs::remove(leftover, error);
}

CheckpointFolder::~CheckpointFolder() { ::close(lock_); }

}  // namespace lockstep::train
