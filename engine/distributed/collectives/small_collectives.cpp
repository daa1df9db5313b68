#include "engine/distributed/collectives/small_collectives.h"

#include <cstring>

#include "engine/ops/copy.h"

namespace lockstep::distributed {
namespace {

template <typename T>
constexpr DType kType =
    sizeof(T) == 8 && std::is_integral_v<T> ? DType::i64 : DType::f64;

template <typename T>
Tensor to_device(const std::vector<T>& numbers, Device device, const char* why) {
  const auto count = static_cast<int64_t>(numbers.size());
  const Tensor host = Tensor::empty({count}, kHost, kType<T>);
  std::memcpy(host.view().data, numbers.data(), host.nbytes());
  return ops::copy_to(host, device, {why, "numbers"});
}

template <typename T>
std::vector<T> to_host(const Tensor& tensor, const char* why) {
  const Tensor host = ops::copy_to(tensor, kHost, {why, "numbers"});
  std::vector<T> numbers(host.numel());
  std::memcpy(numbers.data(), host.view().data, host.nbytes());
  return numbers;
}

template <typename T>
std::vector<T> sum(ProcessGroup& group, Device device, std::vector<T> mine,
                   const char* why) {
  CategoryScope category(MemoryCategory::other);
  const Tensor tensor = to_device(mine, device, why);
  group.all_reduce(tensor, ReduceOp::sum, {why, "numbers"}).wait();
  if (computes(device.type)) return to_host<T>(tensor, why);
  for (T& number : mine) number *= group.size();  // assumes equal lists on all ranks
  return mine;
}

}  // namespace

std::vector<int64_t> broadcast_integers(ProcessGroup& group, Device device,
                                        std::vector<int64_t> mine, const char* why) {
  CategoryScope category(MemoryCategory::other);
  const Tensor tensor = to_device(mine, device, why);
  group.broadcast(tensor, 0, {why, "numbers"}).wait();
  const std::vector<int64_t> result = to_host<int64_t>(tensor, why);
  return computes(device.type) ? result : mine;
}

std::vector<int64_t> sum_integers(ProcessGroup& group, Device device,
                                  std::vector<int64_t> mine, const char* why) {
  return sum(group, device, std::move(mine), why);
}

std::vector<double> sum_reals(ProcessGroup& group, Device device,
                              std::vector<double> mine, const char* why) {
  return sum(group, device, std::move(mine), why);
}

std::vector<std::vector<int64_t>> gather_integers(ProcessGroup& group, Device device,
                                                  const std::vector<int64_t>& mine,
                                                  const char* why) {
  CategoryScope category(MemoryCategory::other);
  const size_t ranks = group.size(), length = mine.size();
  const Tensor in = to_device(mine, device, why);
  const Tensor out = to_device(std::vector<int64_t>(ranks * length), device, why);
  group.all_gather(out, in, {why, "numbers"}).wait();
  const std::vector<int64_t> all = to_host<int64_t>(out, why);
  std::vector<std::vector<int64_t>> rows;
  for (size_t r = 0; r < ranks; ++r) {
    rows.emplace_back(all.begin() + r * length, all.begin() + (r + 1) * length);
    if (!computes(device.type)) rows.back() = mine;
  }
  return rows;
}

}  // namespace lockstep::distributed
