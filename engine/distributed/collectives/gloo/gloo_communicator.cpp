#include "engine/distributed/collectives/gloo/gloo_communicator.h"

#include <fmt/format.h>
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>

#include <csignal>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "base/hash.h"
#include "engine/distributed/collectives/transport.h"
#include "engine/distributed/rendezvous/store.h"
#include "tracer/record/recorder.h"

namespace lockstep::distributed {
namespace {

/// Gloo's ring all-reduce and reduce send from r to r − 1, its all-gather to r + 1.
constexpr RingWay kReduceWay = RingWay::previous, kGatherWay = RingWay::next;
constexpr const char* kGroup = "default";

/// Calls `use` with a zero of the given element type.
template <typename Use>
void with_type(DType type, Use use) {
  switch (type) {
    case DType::f32:
      return use(float{});
    case DType::f64:
      return use(double{});
    case DType::i64:
      return use(int64_t{});
    case DType::u8:
      return use(uint8_t{});
  }
}

using Combine = void (*)(void*, const void*, const void*, size_t);

template <typename T>
Combine combine_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return &gloo::sum<T>;
    case ReduceOp::min:
      return &gloo::min<T>;
    case ReduceOp::max:
      return &gloo::max<T>;
  }
  return nullptr;
}

struct Disagreement : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void ignore_sigpipe() {
  struct sigaction now{};
  ::sigaction(SIGPIPE, nullptr, &now);
  if (now.sa_handler == SIG_DFL) std::signal(SIGPIPE, SIG_IGN);
}

/// Returns Gloo's message without the source location.
std::string without_place(const std::string& what) {
  const size_t end = what.find("] ");
  return what.starts_with('[') && end != what.npos ? what.substr(end + 2) : what;
}

/// Adapts our store to Gloo's interface.
/// Used by Gloo's ranks to find each other, with keys such as `rank_2` and `2`.
class GlooStore : public gloo::rendezvous::Store {
 public:
  /// Every wait ends after `timeout`, regardless of the timeout Gloo requests. Throws
  /// std::runtime_error naming the missing rank in that case.
  GlooStore(std::shared_ptr<distributed::Store> store, Milliseconds timeout)
      : store_(std::move(store)), timeout_(timeout) {}

  void set(const std::string& key, const std::vector<char>& data) override;
  std::vector<char> get(const std::string& key) override;
  void wait(const std::vector<std::string>& keys) override;
  void wait(const std::vector<std::string>& keys, const Milliseconds&) override {
    wait(keys);
  }

 private:
  std::shared_ptr<distributed::Store> store_;
  const Milliseconds timeout_;
};

void GlooStore::set(const std::string& key, const std::vector<char>& data) {
  store_->set(key, {data.begin(), data.end()});
}

std::vector<char> GlooStore::get(const std::string& key) {
  try {
    const std::string value = store_->get(key, timeout_);
    return {value.begin(), value.end()};
  } catch (const StoreTimeout&) {
    throw std::runtime_error(
        fmt::format("rank {} did not reach Gloo's rendezvous within {:g} s",
                    key.substr(key.find('_') + 1),  // from the start if there is no '_'
                    static_cast<double>(timeout_.count()) / 1000));
  }
}

void GlooStore::wait(const std::vector<std::string>& keys) {
  for (const std::string& key : keys) get(key);
}

}  // namespace

GlooCommunicator::GlooCommunicator(const CommunicatorOptions& options)
    : rank_(options.rank), size_(options.size), timeout_(options.timeout) {
  ignore_sigpipe();
  try {
    gloo::transport::tcp::attr here;
    here.hostname = options.address;
    auto device = gloo::transport::tcp::CreateDevice(here);
    auto context = std::make_shared<gloo::rendezvous::Context>(rank_, size_);
    GlooStore store(std::make_shared<PrefixStore>("gloo", options.store), timeout_);
    context->setTimeout(timeout_ / 5);  // Gloo waits five times as long to connect
    context->connectFullMesh(store, device);
    context->setTimeout(timeout_);
    context_ = std::move(context);
    // No rank may close its connections while others are still connecting.
    store.set(fmt::format("connected_{}", rank_), {});
    for (int other = 0; other < size_; ++other) {
      store.get(fmt::format("connected_{}", other));
    }
  } catch (const gloo::IoException& error) {
    throw std::runtime_error(fmt::format(
        "a rank did not reach Gloo's rendezvous within {:g} s: {}",
        static_cast<double>(timeout_.count()) / 1000, without_place(error.what())));
  } catch (const gloo::EnforceNotMet& error) {
    throw std::runtime_error(fmt::format("Gloo failed to start: {}", error.what()));
  }
}

GlooCommunicator::~GlooCommunicator() = default;

void GlooCommunicator::all_reduce(Buffer data, ReduceOp op, const Collective& call) {
  run(data, call, modelled_all_reduce(rank_, size_, data.numel, kReduceWay),
      [&] { all_reduce_in_place(data, op); });
}

void GlooCommunicator::all_reduce_in_place(Buffer data, ReduceOp op) {
  with_type(data.dtype, [&](auto zero) {
    using T = decltype(zero);
    gloo::AllreduceOptions options(context_);
    options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
    options.setOutput(static_cast<T*>(data.data), data.numel);
    options.setReduceFunction(combine_of<T>(op));
    gloo::allreduce(options);
  });
}

void GlooCommunicator::broadcast(Buffer data, int root, const Collective& call) {
  run(data, call, modelled_tree_broadcast(rank_, size_, root, data.numel), [&] {
    gloo::BroadcastOptions options(context_);
    options.setRoot(root);
    options.setOutput(static_cast<char*>(data.data), data.bytes());
    gloo::broadcast(options);
  });
}

void GlooCommunicator::reduce(Buffer data, int root, ReduceOp op,
                              const Collective& call) {
  const auto messages =
      modelled_gathering_reduce(rank_, size_, root, data.numel, kReduceWay);
  run(data, call, messages, [&] {
    std::vector<char> sums;  // non-root ranks must not modify `data`
    with_type(data.dtype, [&](auto zero) {
      using T = decltype(zero);
      gloo::ReduceOptions options(context_);
      options.setRoot(root);
      T* out = static_cast<T*>(data.data);
      if (rank_ != root) {
        const char* bytes = static_cast<const char*>(data.data);
        sums.assign(bytes, bytes + data.bytes());
        out = reinterpret_cast<T*>(sums.data());
      }
      options.setOutput(out, data.numel);
      options.setReduceFunction(combine_of<T>(op));
      gloo::reduce(options);
    });
  });
}

void GlooCommunicator::all_gather(Buffer in, Buffer out, const Collective& call) {
  run(in, call, modelled_all_gather(rank_, size_, in.numel, kGatherWay), [&] {
    gloo::AllgatherOptions options(context_);
    options.setInput(static_cast<char*>(in.data), in.bytes());
    options.setOutput(static_cast<char*>(out.data), out.bytes());
    gloo::allgather(options);
  });
}

void GlooCommunicator::reduce_scatter(Buffer in, Buffer out, ReduceOp op,
                                      const Collective& call) {
  run(in, call, modelled_all_reduce(rank_, size_, in.numel, kReduceWay), [&] {
    const char* bytes = static_cast<const char*>(in.data);
    std::vector<char> sums(bytes, bytes + in.bytes());
    all_reduce_in_place({sums.data(), in.numel, in.dtype}, op);
    std::memcpy(out.data, sums.data() + rank_ * out.bytes(), out.bytes());
  });
}

void GlooCommunicator::send(Buffer data, int to, const Collective& call) {
  run(
      data, call, {},
      [&] {
        const auto buffer = context_->createUnboundBuffer(data.data, data.bytes());
        buffer->send(to, call.seq);
        buffer->waitSend(timeout_);
      },
      false);
}

void GlooCommunicator::recv(Buffer data, int from, const Collective& call) {
  run(
      data, call, {{from, data.numel}},
      [&] {
        const auto buffer = context_->createUnboundBuffer(data.data, data.bytes());
        buffer->recv(from, call.seq);
        buffer->waitRecv(timeout_);
      },
      false);
}

void GlooCommunicator::run(const Buffer& data, const Collective& call,
                           const ModelledMessages& messages,
                           const std::function<void()>& exchange, bool together) {
  throw_if_aborted();
  const int64_t began = tracer::now_ns();
  try {
    if (data.data && data.numel > 0) {
      if (together) agree(call);
      exchange();
    }
  } catch (const Disagreement&) {
    throw;
  } catch (const std::exception& error) {
    throw_if_aborted();
    throw std::runtime_error(explained(error.what(), call));
  }
  record_modelled(messages, kGroup, rank_, data.dtype, call, began, tracer::now_ns());
}

/// Gloo does not compare the ranks' calls: if sizes differ, it terminates the process
/// or returns a wrong sum. Therefore the ranks compare their calls first.
void GlooCommunicator::agree(const Collective& call) {
  const auto kind = static_cast<uint32_t>(fnv1a64(call.name));
  const MessageTag mine{call.seq, call.bytes, 0, kind};
  std::vector<MessageTag> all(size_);
  gloo::AllgatherOptions options(context_);
  options.setInput(reinterpret_cast<char*>(const_cast<MessageTag*>(&mine)),
                   sizeof mine);
  options.setOutput(reinterpret_cast<char*>(all.data()), all.size() * sizeof mine);
  gloo::allgather(options);
  for (int other = 0; other < size_; ++other) {
    if (all[other] == mine) continue;
    throw Disagreement(disagreement(rank_, other, call, mine, all[other]));
  }
}

/// Phrases the error so that Monitor::explain recognises it.
std::string GlooCommunicator::explained(const std::string& what,
                                        const Collective& call) const {
  if (what.find("Timed out waiting") == what.npos) {
    return fmt::format("the connection to a rank broke during {}: {}", str(call),
                       without_place(what));
  }
  return fmt::format("a rank did not reach {} of rank {} within {:g} s", str(call),
                     rank_, static_cast<double>(timeout_.count()) / 1000);
}

void GlooCommunicator::abort(const std::string& why) {
  {
    std::lock_guard lock(mutex_);
    if (aborted_) return;
    aborted_ = why;
  }
  // A receive that times out makes Gloo close all pairs, each under its own lock.
  char nothing = 0;
  try {
    context_->createUnboundBuffer(&nothing, 1)->waitRecv(Milliseconds(0));
  } catch (const std::exception&) {  // the timeout
  }
}

void GlooCommunicator::throw_if_aborted() const {
  std::lock_guard lock(mutex_);
  if (aborted_) throw std::runtime_error(*aborted_);
}

std::unique_ptr<Communicator> make_gloo(const CommunicatorOptions& options) {
  return std::make_unique<GlooCommunicator>(options);
}

}  // namespace lockstep::distributed
