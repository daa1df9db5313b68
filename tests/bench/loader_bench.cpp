// Our side of loader.py: runs epochs of a DataLoader over image folders, one per input
// line.
//
//   loader_bench FOLDER WORKERS BATCH IMAGES
//
// The line `epoch` runs an epoch of IMAGES pictures (FOLDER's pictures repeated) and
// prints {"seconds", "cpu"}: wall time and CPU time. The line `split` prints the CPU
// time per picture of each stage in milliseconds on one thread.
#include <fmt/format.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>

#include "engine/data/image_folder.h"
#include "engine/data/loader.h"
#include "engine/data/picture.h"
#include "engine/data/resize.h"
#include "engine/data/transforms.h"
#include "tracer/record/recorder.h"

using namespace lockstep;
using namespace lockstep::data;

namespace {

double cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

/// Repeats the first pictures.
class Repeated : public Sampler {
 public:
  Repeated(int64_t pictures, int64_t length) : pictures_(pictures), length_(length) {}
  int64_t size() const override { return length_; }
  std::vector<int64_t> indices(int64_t) const override {
    std::vector<int64_t> order(length_);
    for (int64_t i = 0; i < length_; ++i) order[i] = i % pictures_;
    return order;
  }

 private:
  int64_t pictures_, length_;
};

void run_epoch(DataLoader& loader, int64_t epoch) {
  const int64_t begin = tracer::now_ns();
  const double cpu = cpu_seconds();
  loader.start_epoch(epoch);
  while (loader.next()) {
  }
  const double seconds = static_cast<double>(tracer::now_ns() - begin) / 1e9;
  fmt::print("{{\"seconds\": {}, \"cpu\": {}}}\n", seconds, cpu_seconds() - cpu);
}

void split(const ImageFolder& folder) {
  constexpr int kRounds = 5;
  std::vector<uint8_t> bytes;
  Picture cut, between, resized;
  std::vector<float> image(3 * kImageNetSize * kImageNetSize);
  double spent[4] = {};
  for (int64_t i = 0; i < kRounds * folder.size(); ++i) {
    int64_t mark = tracer::thread_cpu_ns();
    const auto lap = [&](int stage) {
      const int64_t now = tracer::thread_cpu_ns();
      spent[stage] += static_cast<double>(now - std::exchange(mark, now)) / 1e6;
    };
    Draws draws(0, i / folder.size(), i % folder.size());
    View view;
    read_whole(folder.index().path(i % folder.size()), bytes);
    lap(0);
    const ChooseBox choose = [&](PictureSize size) {
      return (view = random_resized_crop(size, kImageNetSize, draws)).cut;
    };
    decode(bytes, choose, cut);
    lap(1);
    resize(cut, view.width, view.height, view.part, between, resized);
    lap(2);
    to_planes(resized, view.flip, imagenet_normalize(), std::span(image));
    lap(3);
  }
  for (double& ms : spent) ms /= static_cast<double>(kRounds * folder.size());
  fmt::print("{{\"read\": {}, \"decode\": {}, \"resize\": {}, \"normalize\": {}}}\n",
             spent[0], spent[1], spent[2], spent[3]);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    fmt::print(stderr, "loader_bench FOLDER WORKERS BATCH IMAGES\n");
    return 2;
  }
  const auto folder =
      std::make_shared<ImageFolder>(argv[1], ImageFolderOptions{.augment = true});
  LoaderOptions options;
  options.workers = std::atoi(argv[2]);
  options.batch_size = std::atoi(argv[3]);
  options.sampler = std::make_shared<Repeated>(folder->size(), std::atoi(argv[4]));
  DataLoader loader(folder, options);
  int64_t epoch = 0;
  for (std::string line; std::getline(std::cin, line);) {
    line == "split" ? split(*folder) : run_epoch(loader, epoch++);
    std::fflush(stdout);
  }
}
