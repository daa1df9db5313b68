#include "engine/train/weight_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "engine/data/pth.h"
#include "engine/train/checkpoint_header.h"

namespace lockstep::train {
namespace {

using data::PickledValue;
using Kind = PickledValue::Kind;

constexpr const char* kOnlyWeights = "load its weights with --pretrained";
constexpr const char* kTracked = ".num_batches_tracked";

/// Where else than in `state_dict` (main.py, Lightning, timm) checkpoints have weights:
/// torchvision's references, PyTorch's tutorials, and EMA alone.
constexpr const char* kStateDicts[] = {"model", "model_state_dict", "model_ema",
                                       "state_dict_ema", "ema"};
constexpr const char* kAveraged = "n_averaged";  ///< counter of AveragedModel

/// An optimizer of PyTorch whose state and options are read, as its state_dict shows
/// it.
struct KnownOptimizer {
  const char* word;                ///< of --optimizer
  std::vector<const char*> marks;  ///< options that, together, only this one has
  std::set<std::string> state;     ///< of a parameter
  /// Flags of its options, besides --lr and --weight-decay.
  std::vector<std::pair<const char*, const char*>> flags;
};

const KnownOptimizer kOptimizers[] = {
    {"sgd",
     {"momentum", "dampening"},
     {"momentum_buffer"},
     {{"--momentum", "momentum"}}},
    {"adam",  // and adamw: see is_decoupled()
     {"betas", "amsgrad"},
     {"exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step"},
     {{"--eps", "eps"}}},
    {"rmsprop",
     {"alpha", "centered"},
     {"square_avg", "grad_avg", "momentum_buffer", "step"},
     {{"--alpha", "alpha"}, {"--eps", "eps"}, {"--momentum", "momentum"}}}};

bool is_buffer(const std::string& name) {
  return name.ends_with(".running_mean") || name.ends_with(".running_var") ||
         name.ends_with(kTracked);
}

/// Presents a PyTorch file as tensors and metadata of ours.
class MainPyFile {
 public:
  explicit MainPyFile(const std::string& path, Part part = Part::all)
      : file_(path), content_(file_.content()) {
    const PickledValue& root = file_.root();
    state_dict_ = content_.find(root, "state_dict");
    is_checkpoint_ =
        part == Part::all && state_dict_ && content_.find(root, "optimizer");
    for (const char* key : kStateDicts) {
      if (!state_dict_) state_dict_ = content_.find(root, key);
    }
    if (!state_dict_) state_dict_ = &root;
    list_weights();
    if (is_checkpoint_) list_state();
  }

  bool is_checkpoint() const { return is_checkpoint_; }

  CheckpointHeader header() {
    CheckpointHeader header;
    const PickledValue &arch = member("arch"), &epoch = member("epoch");
    const bool counts =
        epoch.kind == Kind::integer && epoch.integer >= 0 && epoch.integer <= INT32_MAX;
    if (arch.kind != Kind::text || !counts) {
      file_.refuse("has no arch or no epoch", kOnlyWeights);
    }
    header.progress.arch = arch.text;
    header.progress.epoch = static_cast<int>(epoch.integer);
    header.progress.best_acc1 = number(member("best_acc1"), "best_acc1");
    header.progress.recipe = recipe(arch.text);
    return header;
  }

  std::vector<data::TensorFileEntry> read() {
    auto entries = file_.read(requests_);
    add_untracked(entries);
    entries.insert(entries.end(), counts_.begin(), counts_.end());
    return entries;
  }

 private:
  const PickledValue& member(const char* key) const {
    const PickledValue* found = content_.find(file_.root(), key);
    if (!found) file_.refuse(fmt::format("has no {}", key), kOnlyWeights);
    return *found;
  }

  void list_weights() {
    if (state_dict_->kind != Kind::dict || state_dict_->items.empty()) {
      file_.refuse("contains no state_dict", "save model.state_dict()");
    }
    for (size_t i = 0; i + 1 < state_dict_->items.size(); i += 2) {
      const PickledValue &name = content_.at(state_dict_->items[i]),
                         &value = content_.at(state_dict_->items[i + 1]);
      if (name.kind != Kind::text || value.kind != Kind::tensor) {
        file_.refuse(
            fmt::format("'{}' is not a tensor", data::printable_text(name.text)),
            "save model.state_dict()");
      }
      if (name.text == kAveraged) continue;
      requests_.push_back({name.text, static_cast<size_t>(value.integer)});
      if (!is_buffer(name.text)) parameters_.push_back(name.text);
    }
  }

  /// Returns the only group of parameters.
  const PickledValue& group() const {
    const PickledValue* groups = content_.find(member("optimizer"), "param_groups");
    if (!groups || groups->kind != Kind::list || groups->items.size() != 1) {
      file_.refuse("its optimizer does not have exactly one group of parameters",
                   kOnlyWeights);
    }
    return content_.at(groups->items[0]);
  }

  const KnownOptimizer& optimizer() const {
    for (const KnownOptimizer& known : kOptimizers) {
      if (std::all_of(known.marks.begin(), known.marks.end(), [&](const char* option) {
            return content_.find(group(), option) != nullptr;
          })) {
        return known;
      }
    }
    file_.refuse("its optimizer is not SGD, Adam or RMSprop", kOnlyWeights);
  }

  void list_state() {
    const PickledValue* state = content_.find(member("optimizer"), "state");
    const PickledValue* params = content_.find(group(), "params");
    if (!state || state->kind != Kind::dict || !params ||
        params->items.size() != parameters_.size()) {
      file_.refuse("its optimizer and its state_dict have different parameters",
                   kOnlyWeights);
    }
    std::map<int64_t, std::string> names;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      names[content_.at(params->items[i]).integer] = parameters_[i];
    }
    std::set<int64_t> seen;
    for (size_t i = 0; i + 1 < state->items.size(); i += 2) {
      const int64_t key = content_.at(state->items[i]).integer;
      const auto name = names.find(key);
      if (name == names.end() || !seen.insert(key).second) {
        file_.refuse("its optimizer and its state_dict have different parameters",
                     kOnlyWeights);
      }
      add_state(without_module(name->second), content_.at(state->items[i + 1]));
    }
  }

  void add_state(const std::string& parameter, const PickledValue& state) {
    const KnownOptimizer& known = optimizer();
    for (size_t i = 0; i + 1 < state.items.size(); i += 2) {
      const std::string& part = content_.at(state.items[i]).text;
      const PickledValue& value = content_.at(state.items[i + 1]);
      if (!known.state.contains(part)) {
        file_.refuse(fmt::format("its optimizer, {}, stores '{}'", known.word,
                                 data::printable_text(part)),
                     kOnlyWeights);
      }
      if (value.kind == Kind::none) continue;  // had no gradient
      const std::string name = fmt::format("optimizer.{}.{}", part, parameter);
      if (part == "step") {
        if (known.word == std::string_view("adam")) add_count(name, value);
      } else if (value.kind != Kind::tensor) {
        file_.refuse(fmt::format("its {} is not a tensor", part), kOnlyWeights);
      } else {
        requests_.push_back({name, static_cast<size_t>(value.integer)});
      }
    }
  }

  /// A number of updates: an integer, or a tensor of one number since PyTorch 1.12.
  void add_count(const std::string& name, const PickledValue& value) {
    const double count = number(value, "step");
    if (!(count >= 0 && count < 1e15) || count != std::floor(count)) {
      file_.refuse("its step is not a number of updates", kOnlyWeights);
    }
    const auto whole = static_cast<int64_t>(count);
    std::vector<std::byte> bytes(sizeof whole);
    std::memcpy(bytes.data(), &whole, sizeof whole);
    counts_.push_back({name, "I64", {}, std::move(bytes)});
  }

  /// main.py stores the best accuracy as a number or as a tensor of one number.
  double number(const PickledValue& value, const char* what) {
    if (value.kind == Kind::real) return value.real;
    if (value.kind == Kind::integer) return static_cast<double>(value.integer);
    if (value.kind == Kind::tensor) {
      const auto entry = file_.read({{what, static_cast<size_t>(value.integer)}})[0];
      if (entry.dtype == "F32" && entry.data.size() == sizeof(float)) {
        float number = 0;
        std::memcpy(&number, entry.data.data(), sizeof number);
        return number;
      }
      if (entry.dtype == "F64" && entry.data.size() == sizeof(double)) {
        double number = 0;
        std::memcpy(&number, entry.data.data(), sizeof number);
        return number;
      }
    }
    file_.refuse(fmt::format("its {} is not a number", what), kOnlyWeights);
  }

  /// Returns the flags that the file determines, as a JSON object.
  std::string recipe(const std::string& arch) {
    const PickledValue& options = group();
    const auto add = [&](nlohmann::json& to, const char* flag,
                         const PickledValue* value, const char* what) {
      if (value) to[flag] = number(*value, what);
    };
    for (const char* other : {"maximize", "dampening"}) {
      const PickledValue* value = content_.find(options, other);
      if (value && value->kind != Kind::none &&
          (value->integer != 0 || value->real != 0)) {
        file_.refuse(fmt::format("its optimizer uses {}", other), kOnlyWeights);
      }
    }
    const KnownOptimizer& known = optimizer();
    nlohmann::json recipe{{"--arch", arch}, {"--stem", stem()}};
    if (known.word != std::string_view("sgd")) {
      recipe["--optimizer"] = is_decoupled(options) ? "adamw" : known.word;
    }
    for (const auto& [flag, option] : known.flags) {
      add(recipe, flag, content_.find(options, option), option);
    }
    if (const PickledValue* betas = content_.find(options, "betas")) {
      if (betas->items.size() != 2) file_.refuse("its betas are not two", kOnlyWeights);
      add(recipe, "--beta1", &content_.at(betas->items[0]), "beta");
      add(recipe, "--beta2", &content_.at(betas->items[1]), "beta");
    }
    for (const char* option : {"amsgrad", "centered", "nesterov"}) {
      const PickledValue* set = content_.find(options, option);
      if (set) recipe[fmt::format("--{}", option)] = set->integer != 0;
    }
    add(recipe, "--weight-decay", content_.find(options, "weight_decay"),
        "weight_decay");
    add(recipe, "--lr", content_.find(options, "initial_lr"), "initial_lr");
    const PickledValue* scheduler = content_.find(file_.root(), "scheduler");
    const PickledValue* steps =
        scheduler ? content_.find(*scheduler, "step_size") : nullptr;
    if (!scheduler) return recipe.dump();
    if (!steps || steps->kind != Kind::integer || steps->integer < 1 ||
        steps->integer > INT32_MAX) {
      file_.refuse("its scheduler is not StepLR", kOnlyWeights);
    }
    recipe["--schedule"] = "step";
    recipe["--lr-step-size"] = steps->integer;
    add(recipe, "--lr-gamma", content_.find(*scheduler, "gamma"), "gamma");
    return recipe.dump();
  }

  /// Whether the optimizer is AdamW. Its state_dict is Adam's, except that since
  /// PyTorch 2.7 it says so; without weight decay they are the same.
  bool is_decoupled(const PickledValue& options) {
    const PickledValue* decay = content_.find(options, "weight_decay");
    if (!content_.find(options, "betas") || !decay) return false;
    const PickledValue* decoupled = content_.find(options, "decoupled_weight_decay");
    if (decoupled) return decoupled->integer != 0;
    if (number(*decay, "weight_decay") != 0) {
      file_.refuse("does not say whether its weight decay is Adam's or AdamW's",
                   kOnlyWeights);
    }
    return false;
  }

  /// torchvision's ResNets begin with a 7×7 convolution, whatever the image size.
  std::string stem() const {
    for (const data::PthFile::Request& request : requests_) {
      if (without_module(request.name) != "conv1.weight") continue;
      const auto& shape = content_.tensors[request.tensor].shape;
      if (shape.size() == 4 && shape[2] == 3) return "cifar";
    }
    return "imagenet";
  }

  /// PyTorch before 0.4.1 did not count the batches.
  static void add_untracked(std::vector<data::TensorFileEntry>& entries) {
    constexpr std::string_view kMean = ".running_mean";
    std::vector<std::string> means;
    for (const auto& entry : entries) {
      if (entry.name.ends_with(kTracked)) return;
      if (entry.name.ends_with(kMean)) means.push_back(entry.name);
    }
    for (const std::string& mean : means) {
      entries.push_back({mean.substr(0, mean.size() - kMean.size()) + kTracked,
                         "I64",
                         {},
                         std::vector<std::byte>(8)});
    }
  }

  data::PthFile file_;
  const data::Pickle& content_;
  const PickledValue* state_dict_ = nullptr;
  bool is_checkpoint_ = false;
  std::vector<data::PthFile::Request> requests_;
  std::vector<data::TensorFileEntry> counts_;  ///< of updates, for each parameter
  std::vector<std::string> parameters_;        ///< in the optimizer's order
};

/// Throws std::runtime_error if the first bytes show that the file holds no weights.
void require_weights(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string begin(64, '\0');
  in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<size_t>(in.gcount()));
  if (!in.is_open() || in.bad()) return;  // the reader says why
  const auto refuse = [&](const char* what) {
    throw std::runtime_error(path + ": " + what);
  };
  if (begin.empty()) refuse("is empty; fix: copy or download it again");
  if (begin.starts_with("version https://git-lfs")) {
    refuse("is a Git LFS pointer, not the weights; fix: git lfs pull");
  }
  begin.erase(0, begin.find_first_not_of("\xef\xbb\xbf \t\r\n"));
  if (begin.starts_with('<')) {
    refuse("is a web page (HTML), not the weights; fix: download the file itself");
  }
  if (begin.starts_with('{') || begin.starts_with('[')) {
    refuse("is a JSON text, not the weights; fix: download the file itself");
  }
  if (begin.starts_with("\x1f\x8b")) {
    refuse("is compressed by gzip; fix: unpack it with gunzip or tar -xzf");
  }
}

}  // namespace

std::vector<data::TensorFileEntry> read_weight_file(const std::string& path,
                                                    data::Metadata* metadata,
                                                    Part part) {
  if (!data::is_pth(path)) {
    require_weights(path);
    return data::read_safetensors(path, metadata);
  }
  MainPyFile file(path, part);
  metadata->clear();
  if (!file.is_checkpoint()) return file.read();
  CheckpointHeader header = file.header();
  auto entries = file.read();
  for (auto& entry : entries) {
    entry.name = without_module(entry.name);
    header.checksums[entry.name] = checksum(entry);
  }
  *metadata = format_header(header);
  return entries;
}

data::Metadata read_weight_metadata(const std::string& path) {
  if (!data::is_pth(path)) {
    require_weights(path);
    return data::read_safetensors_metadata(path);
  }
  MainPyFile file(path);
  return file.is_checkpoint() ? format_header(file.header()) : data::Metadata{};
}

}  // namespace lockstep::train
