// Helpers for tests of DistributedDataParallel: a rank's rows, a net with unused
// parameters, and a hook that records buckets.
#pragma once

#include <cstring>

#include "engine/distributed/ddp/distributed_data_parallel.h"
#include "engine/ops/op_call.h"
#include "tests/engine/distributed/ranks.h"
#include "tests/engine/parallel/nets.h"

namespace lockstep::test {

/// Rows r, r + N, r + 2N, … of a host tensor, as DistributedSampler assigns them.
inline Tensor share_of(const Tensor& all, int rank, int size) {
  const int64_t rows = all.size(0), row = all.numel() / rows;
  const std::vector<double> values = values_of(all);
  std::vector<double> mine;
  for (int64_t i = rank; i < rows; i += size) {
    mine.insert(mine.end(), values.begin() + i * row, values.begin() + (i + 1) * row);
  }
  std::vector<int64_t> sizes(all.sizes().begin(), all.sizes().end());
  sizes[0] = static_cast<int64_t>(mine.size()) / row;
  return Tensor::from(mine, Shape(sizes), all.dtype());
}

/// The golden batch: images 1.7·(2u − 1) of shape `rows` × `image`.
struct Batch {
  Tensor images, labels;

  static Batch golden(int64_t rows, const std::vector<int64_t>& image, int64_t classes,
                      DType dtype = DType::f64) {
    std::vector<int64_t> sizes{rows};
    sizes.insert(sizes.end(), image.begin(), image.end());
    return {signed_tensor("images", Shape(sizes), 1.7, dtype),
            golden_labels(rows, classes)};
  }
  Batch share(int rank, int size) const {
    return {share_of(images, rank, size), share_of(labels, rank, size)};
  }
  Batch share(const Rank& rank) const { return share(rank.rank, rank.size); }
  Batch rows(int64_t first, int64_t count) const {
    return {images.narrowed(first, count), labels.narrowed(first, count)};
  }
  Batch on(Device device) const {
    return {test::on(device, images), test::on(device, labels)};
  }
};

/// Sets golden values on rank 0 only. The other ranks keep theirs until the broadcast.
inline void only_rank_0_knows(nn::Module& model, const Rank& rank) {
  if (rank.rank == 0) fill_golden(model, DType::f64);
}

/// Five linear layers, of which the fourth exceeds the first bucket's 1 MiB (in
/// double). With a small `bucket_cap`, more buckets follow it. For N×5 inputs.
inline nn::ModulePtr make_deep_net() {
  std::vector<nn::ModulePtr> layers;
  int64_t in = 5;
  for (const int64_t out : {20, 30, 400, 350, 3}) {
    if (in != 5) layers.push_back(std::make_shared<nn::ReLU>());
    layers.push_back(std::make_shared<nn::Linear>(in, out));
    in = out;
  }
  return std::make_shared<nn::Sequential>(std::move(layers));
}

/// first(x), plus second(x) if `uses_second`.
class TwoLinears : public nn::Module {
 public:
  TwoLinears() {
    first_ = register_module("first", std::make_shared<nn::Linear>(5, 2));
    second_ = register_module("second", std::make_shared<nn::Linear>(5, 2));
  }
  Tensor forward(const Tensor& x) override {
    const Tensor one = (*first_)(x);
    return uses_second ? ops::add(one, (*second_)(x)) : one;
  }
  const char* type_name() const override { return "TwoLinears"; }
  nn::ModulePtr make_like() const override { return std::make_shared<TwoLinears>(); }

  bool uses_second = true;

 private:
  std::shared_ptr<nn::Linear> first_, second_;
};

/// The buckets of a step, in order of launch.
struct Launched {
  std::vector<int64_t> bytes;
  std::vector<std::vector<std::string>> params;
};

/// A comm hook that behaves like the default and records its arguments.
inline distributed::CommHook watching(Launched& seen) {
  return [&seen](ProcessGroup& group, distributed::GradBucket& bucket) {
    EXPECT_EQ(bucket.index, seen.bytes.size());
    seen.bytes.push_back(bucket.buffer.nbytes());
    seen.params.push_back(bucket.label.params);
    ops::OpCall op("aten::div_", {bucket.buffer}, std::source_location::current());
    ops::compute_into(OpCode::scale, {bucket.buffer}, {bucket.buffer}, {},
                      {1.0 / group.size()});
    return group.all_reduce(bucket.buffer, ReduceOp::sum, bucket.label);
  };
}

/// A hash of all bits of the tensors.
inline uint64_t bits_of(const Tensors& tensors) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const Tensor& tensor : tensors) {
    const Tensor host = ops::copy_to(tensor.detach(), kHost, {"d2h", "test"});
    const auto* bytes = static_cast<const char*>(host.view().data);
    for (int64_t i = 0; i < host.nbytes(); i += 4) {
      uint32_t word;
      std::memcpy(&word, bytes + i, 4);
      hash = (hash ^ word) * 0x100000001b3;
    }
  }
  return hash;
}

/// Expects identical bits on all ranks.
inline void expect_all_equal(const std::vector<uint64_t>& bits) {
  for (size_t r = 1; r < bits.size(); ++r) EXPECT_EQ(bits[r], bits[0]) << "rank " << r;
}

}  // namespace lockstep::test
