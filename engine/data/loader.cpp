#include "engine/data/loader.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <cstdlib>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <utility>

#include "tracer/record/recorder.h"

namespace lockstep::data {
namespace {

std::string type_name(const std::exception& error) {
  const char* mangled = typeid(error).name();
  char* readable = abi::__cxa_demangle(mangled, nullptr, nullptr, nullptr);
  std::string name = readable ? readable : mangled;
  std::free(readable);
  return name;
}

int64_t numbers_of(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

void check(const LoaderOptions& options) {
  auto refuse = [](const std::string& why) {
    throw std::runtime_error("DataLoader: " + why);
  };
  if (options.batch_size < 1) {
    refuse(fmt::format("batch_size must be 1 or more, not {}", options.batch_size));
  }
  if (options.workers < 0) {
    refuse(fmt::format("workers must be 0 or more, not {}", options.workers));
  }
  if (options.prefetch_factor < 1) {
    refuse(fmt::format("prefetch_factor must be 1 or more, not {}",
                       options.prefetch_factor));
  }
  if (!(options.timeout >= 0) || (options.timeout > 0 && options.workers == 0)) {
    refuse("timeout must be >= 0, and must be 0 if workers is 0");
  }
  if (options.sampler && options.shuffle) {
    refuse("sampler and shuffle are mutually exclusive");
  }
}

const ImageDataset* as_images(const Dataset& dataset) {
  return dynamic_cast<const ImageDataset*>(&dataset);
}

}  // namespace

DataLoader::DataLoader(std::shared_ptr<const Dataset> dataset, LoaderOptions options)
    : dataset_(std::move(dataset)), options_(std::move(options)) {
  check(options_);
  if (options_.as_bytes && !as_images(*dataset_)) {
    throw std::runtime_error("DataLoader: as_bytes requires a data set of images");
  }
  if (options_.sampler) return;
  const int64_t length = dataset_->size();
  if (options_.shuffle) {
    options_.sampler = std::make_shared<RandomSampler>(length, options_.seed);
  } else {
    options_.sampler = std::make_shared<SequentialSampler>(length);
  }
}

int64_t DataLoader::size() const {
  return batch_count(options_.sampler->size(), options_.batch_size, options_.drop_last);
}

void DataLoader::start_epoch(int64_t epoch, int64_t first) {
  prefetcher_.reset();
  maker_ = std::make_shared<BatchMaker>(dataset_, options_, epoch, first);
  taken_ = first_ = first;
  if (options_.workers == 0) return;
  prefetcher_ = std::make_unique<Prefetcher>(
      [maker = maker_](int64_t batch, int worker) {
        return maker->make(batch, worker);
      },
      maker_->batches() - first, options_.workers, maker_->depth(), options_.timeout,
      first);
}

std::optional<Batch> DataLoader::next() {
  std::optional<Batch> batch = take();
  if (!batch) return batch;
  for (const std::string& why : batch->bad) options_.on_bad_sample(why);
  return batch;
}

std::optional<Batch> DataLoader::take() {
  if (!maker_)
    throw std::runtime_error("DataLoader: start_epoch() must be called first");
  if (taken_ == maker_->batches()) return std::nullopt;
  const int64_t number = taken_++;
  if (options_.workers == 0) {
    tracer::HostEvent call("call", "_MapDatasetFetcher.fetch");
    call.arg(tracer::Arg::integers("indices", maker_->indices(number)));
    return maker_->make(number, kCallingThread);
  }
  if (!prefetcher_) throw std::runtime_error("DataLoader: the workers are stuck");
  const int64_t asked_ns = tracer::now_ns();
  Batch batch = wait_for(number);
  maker_->log().record(number, asked_ns);
  return batch;
}

Batch DataLoader::wait_for(int64_t number) {
  try {
    return std::move(*prefetcher_->next());
  } catch (const LoaderTimeout& timeout) {
    const int worker = static_cast<int>((number - first_) % options_.workers);
    const std::string sample = maker_->at_work_on(worker);
    // A thread that hangs in a system call cannot be stopped and is not joined: the
    // workers and everything they use are leaked.
    static auto& left_behind = *new std::vector<std::unique_ptr<Prefetcher>>;
    prefetcher_->abandon();
    left_behind.push_back(std::move(prefetcher_));
    throw LoaderTimeout(std::string(timeout.what()) +
                        (sample.empty() ? "" : "; it is loading " + sample));
  }
}

BatchMaker::BatchMaker(std::shared_ptr<const Dataset> dataset, LoaderOptions options,
                       int64_t epoch, int64_t first)
    : dataset_(std::move(dataset)),
      images_(options.as_bytes ? as_images(*dataset_) : nullptr),
      options_(std::move(options)),
      epoch_(epoch),
      batches_(cut_batches(options_.sampler->indices(epoch), options_.batch_size,
                           options_.drop_last)),
      log_(depth(), first),
      current_(options_.workers) {
  for (auto& sample : current_) sample = -1;
}

std::string BatchMaker::at_work_on(int worker) const {
  const int64_t index = current_[worker];
  return index < 0 ? "" : dataset_->describe(index);
}

Batch BatchMaker::make(int64_t batch, int worker) const {
  const int64_t begin_ns = tracer::now_ns();
  const std::vector<int64_t>& indices = batches_[batch];

  Batch made;
  made.shape = dataset_->sample_shape();
  made.images = Floats(BatchAllocator<float>(options_.memory));
  made.bytes = Bytes(BatchAllocator<uint8_t>(options_.memory));
  const auto resize = [&](size_t samples) {
    const size_t elements = samples * numbers_of(made.shape);
    if (images_) {
      made.bytes.resize(elements);
    } else {
      made.images.resize(elements);
    }
  };
  resize(indices.size());
  for (const int64_t index : indices) {
    if (worker != kCallingThread) current_[worker] = index;
    add(batch, worker, index, made);
  }
  if (worker != kCallingThread) current_[worker] = -1;
  resize(made.labels.size());
  made.shape.insert(made.shape.begin(), made.size());

  const int64_t end_ns = tracer::now_ns();
  if (worker != kCallingThread) {
    log_.add({worker, batch, made.size(), begin_ns, end_ns, indices});
  }
  if (options_.on_batch) options_.on_batch(worker, batch, begin_ns, end_ns);
  return made;
}

/// Loads sample `index` into the next free slot of `made`, if possible.
void BatchMaker::add(int64_t batch, int worker, int64_t index, Batch& made) const {
  try {
    made.labels.push_back(get(batch, worker, index, made));
  } catch (const BadSample& bad) {
    if (!options_.on_bad_sample) throw;
    made.bad.push_back(bad.what());
  }
}

/// Writes sample `index` to the next free slot of `made`. Returns its label.
int64_t BatchMaker::read(int64_t index, Batch& made) const {
  Draws draws(options_.seed, epoch_, index);
  const int64_t numbers = numbers_of(made.shape), start = made.size() * numbers;
  if (images_) {
    return images_->get_bytes(index, draws,
                              {made.bytes.data() + start, size_t(numbers)});
  }
  return dataset_->get(index, draws, {made.images.data() + start, size_t(numbers)});
}

int64_t BatchMaker::get(int64_t batch, int worker, int64_t index, Batch& made) const {
  try {
    if (index < 0 || index >= dataset_->size()) {
      throw std::out_of_range(fmt::format("the sampler requested sample {} of {}",
                                          index, dataset_->size()));
    }
    return read(index, made);
  } catch (const std::exception& error) {
    const bool is_bad = dynamic_cast<const BadSample*>(&error) != nullptr;
    if (is_bad && options_.on_bad_sample) throw;
    const std::string what =
        std::string(error.what()) +
        (is_bad ? "; fix: replace it, or use --on-bad-image skip" : "");
    if (worker == kCallingThread && is_bad) throw BadSample(what);
    if (worker == kCallingThread) throw;
    std::throw_with_nested(std::runtime_error(
        fmt::format("Caught {} in DataLoader worker {} (batch {}, sample {}): {}",
                    type_name(error), worker, batch, index, what)));
  }
}

}  // namespace lockstep::data
