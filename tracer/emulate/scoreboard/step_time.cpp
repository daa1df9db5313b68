#include "tracer/emulate/scoreboard/step_time.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>

#include "engine/plan/buckets.h"
#include "engine/plan/coalesce.h"

namespace lockstep::tracer {
namespace {

// Host time per replica, measured with PyTorch 1.13 on an EPYC core (README.md).
constexpr double kReplicaModule = 12e-6, kReplicaTensor = 3.2e-6, kLayerCall = 24e-6;
constexpr double kHook = 23e-6;             // per gradient; README.md
constexpr double kSpread = 0.017;           // of a step's time; README.md
constexpr double kInterference = 0.1;       // README.md
constexpr double kBatchRate = 4.6e9;        // pageable host memory to device, B/s
constexpr double kServerRate = 24e9;        // one socket's memory, B/s
constexpr int64_t kFusionBytes = 64 << 20;  // HOROVOD_FUSION_THRESHOLD

double factor_of(const CostFactors& factors, Cost cost) {
  return std::exp(factors[static_cast<size_t>(cost)]);
}

RingOfDevices ring_for(const StepSetting& s, const CostFactors& factors) {
  return s.links.ring(s.devices, factor_of(factors, Cost::link),
                      factor_of(factors, Cost::network));
}

std::vector<int64_t> tensor_bytes(const StepSetting& s) {
  std::vector<int64_t> bytes;
  for (const NetTensor& tensor : s.net->parameters) {
    bytes.push_back(tensor.numel * s.gradient_bytes);
  }
  return bytes;
}

/// A collective: its bytes, and the share of the pass after which it may begin.
struct Sending {
  double ready = 0;  ///< seconds from the begin of the pass
  int64_t bytes = 0;
};

/// When gradients are ready, last layer first, if the pass takes `seconds`.
std::vector<double> ready_times(const Net& net, double seconds) {
  const double all = net.macs();
  std::vector<double> ready(net.parameters.size());
  double done = 0;
  for (size_t i = net.parameters.size(); i-- > 0;) {
    done += net.parameters[i].macs;
    ready[i] = seconds * done / all;
  }
  return ready;
}

std::vector<plan::Bucket> buckets_of(const Net& net, const std::vector<int64_t>& limits,
                                     int64_t gradient_bytes) {
  std::vector<plan::BucketItem> items;
  for (auto tensor = net.parameters.rbegin(); tensor != net.parameters.rend();
       ++tensor) {
    items.push_back({tensor->numel * gradient_bytes});
  }
  std::vector<plan::Bucket> buckets = plan::assign_buckets(items, limits);
  for (plan::Bucket& bucket : buckets) {
    for (size_t& i : bucket) i = net.parameters.size() - 1 - i;
  }
  return buckets;
}

std::vector<int64_t> limits_of(const StepSetting& s) {
  if (s.sum == Sum::fusion) return {kFusionBytes};
  return {plan::kFirstBucketBytes, s.bucket_cap};
}

std::vector<Sending> bucket_sendings(const StepSetting& s, double backward) {
  const std::vector<double> ready = ready_times(*s.net, backward);
  std::vector<Sending> sendings;
  for (const plan::Bucket& bucket :
       buckets_of(*s.net, limits_of(s), s.gradient_bytes)) {
    Sending sending;
    for (const size_t i : bucket) {
      sending.ready = std::max(sending.ready, ready[i]);
      sending.bytes += s.net->parameters[i].numel * s.gradient_bytes;
    }
    sendings.push_back(sending);
  }
  return sendings;
}

/// What messages add to a pass.
struct PassOverlap {
  double exposed = 0;   ///< after the pass has ended
  double overlaps = 0;  ///< while it runs
};

/// start(b) = max(ready(b), end(b − 1)).
PassOverlap overlap_of(const std::vector<Sending>& sendings, double pass,
                       const std::function<double(int64_t)>& seconds_of) {
  PassOverlap overlap;
  double end = 0;
  for (const Sending& sending : sendings) {
    const double start = std::max(sending.ready, end);
    end = start + seconds_of(sending.bytes);
    overlap.overlaps += std::max(0.0, std::min(end, pass) - start);
  }
  overlap.exposed = std::max(0.0, end - pass);
  return overlap;
}

double all_reduce_seconds(int64_t bytes, const RingOfDevices& ring) {
  Hardware hardware;
  hardware.nccl = true;
  return choose_all_reduce(bytes, ring, hardware).expected_us * 1e-6;
}

/// One direction of NCCL's ring: from, or to, device 0. In pieces, so the bytes pass
/// each link once.
double chain_seconds(int64_t bytes, const RingOfDevices& ring) {
  const ProtocolCost cost = protocol_cost("ring", "Simple", ring.within);
  return (cost.base_us + (ring.devices - 1) * cost.hop_us) * 1e-6 +
         static_cast<double>(bytes) / (ring.gb_per_s * 1e9);
}

int64_t group_bytes(const plan::Group& group, const std::vector<int64_t>& bytes) {
  return std::accumulate(group.begin(), group.end(), int64_t{0},
                         [&](int64_t sum, size_t i) { return sum + bytes[i]; });
}

/// Messages of DataParallel: batches out, the model out, logits and gradients back.
double dp_links(const StepSetting& s, const CostFactors& factors) {
  const RingOfDevices ring = ring_for(s, factors);
  const std::vector<int64_t> bytes = tensor_bytes(s);
  double seconds = 0;
  for (const plan::Group& group : plan::coalesce_broadcast(bytes)) {
    seconds += chain_seconds(group_bytes(group, bytes), ring);
  }
  for (const plan::Group& group : plan::coalesce_reduce(bytes)) {
    seconds += chain_seconds(group_bytes(group, bytes), ring);
  }
  const double others = s.devices - 1, values = static_cast<double>(s.gradient_bytes);
  const double images = static_cast<double>(s.net->image_bytes) / 4 * values;
  const double logits = static_cast<double>(s.net->classes) * values;
  seconds += others * s.batch * images / kBatchRate;
  // The logits go to device 0, their gradients come back.
  return seconds + 2 * others * s.batch * logits / (ring.gb_per_s * 1e9);
}

/// One interpreter prepares all replicas, then launches the kernels of all forward
/// passes. On one device the launches are hidden by the forward pass, or are it.
double dp_host(const StepSetting& s, const CostFactors& factors) {
  const double tensors = static_cast<double>(s.net->parameters.size()) + s.net->buffers;
  const double host = factor_of(factors, Cost::host);
  const double replica =
      host * (kReplicaModule * s.net->modules + kReplicaTensor * tensors);
  const double launches = host * kLayerCall * s.net->calls;
  const double forward = s.alone * s.forward_share;
  return s.devices * replica + std::max(0.0, s.devices * launches - forward);
}

void add_dp(const StepSetting& s, const CostFactors& factors, StepParts& parts) {
  parts.host = dp_host(s, factors);
  parts.links = dp_links(s, factors);
}

/// Sums gradients while the backward pass runs.
void add_overlapped(const StepSetting& s, const CostFactors& factors,
                    StepParts& parts) {
  const RingOfDevices ring = ring_for(s, factors);
  const auto seconds = [&](int64_t bytes) { return all_reduce_seconds(bytes, ring); };
  const double backward = s.alone * (1 - s.forward_share);
  const PassOverlap first = overlap_of(bucket_sendings(s, backward), backward, seconds);
  parts.interference =
      kInterference * factor_of(factors, Cost::interference) * first.overlaps;
  const double slower = backward + parts.interference;
  parts.links = overlap_of(bucket_sendings(s, slower), slower, seconds).exposed;
}

/// Sums gradients after the backward pass.
void add_after(const StepSetting& s, const CostFactors& factors, StepParts& parts) {
  const RingOfDevices ring = ring_for(s, factors);
  for (const int64_t bytes : tensor_bytes(s)) {
    parts.links += all_reduce_seconds(bytes, ring);
  }
}

/// Seconds per byte that workers push, or pull: the slowest of their own link, their
/// servers' memory and the network.
double server_seconds_per_byte(const StepSetting& s, const CostFactors& factors) {
  const int machines = s.links.machines(s.devices);
  const double here = static_cast<double>(s.devices) / machines;
  const double link = s.links.pcie_gb_per_s * 1e9 * factor_of(factors, Cost::link);
  const double memory = kServerRate * factor_of(factors, Cost::server);
  double slowest = 1 / link;
  if (!s.servers_on_devices) slowest = std::max(slowest, here / memory);
  if (machines > 1) {
    const double network =
        s.links.network_gb_per_s * 1e9 * factor_of(factors, Cost::network);
    slowest = std::max(slowest, (machines - 1.0) / machines / network);
  }
  return slowest;
}

/// Parameter servers: gradients are pushed while the backward pass runs, parameters are
/// pulled while the forward pass does. Pulling is pushing with time reversed: a tensor
/// must have come when its layer begins.
void add_servers(const StepSetting& s, const CostFactors& factors, StepParts& parts) {
  const double per_byte = server_seconds_per_byte(s, factors);
  const auto seconds = [&](int64_t bytes) {
    return static_cast<double>(bytes) * per_byte;
  };
  for (const double pass :
       {s.alone * s.forward_share, s.alone * (1 - s.forward_share)}) {
    const std::vector<double> ready = ready_times(*s.net, pass);
    const std::vector<int64_t> bytes = tensor_bytes(s);
    std::vector<Sending> sendings;
    for (size_t i = bytes.size(); i-- > 0;) sendings.push_back({ready[i], bytes[i]});
    parts.links += overlap_of(sendings, pass, seconds).exposed;
  }
}

/// A bisection of the normal distribution would do, too; an integral needs no table.
double integrate_maximum(int count) {
  constexpr double kStep = 0.01, kEnd = 8;
  double sum = 0;
  for (double x = -kEnd; x < kEnd; x += kStep) {
    const double middle = x + kStep / 2;
    const double below = 0.5 * std::erfc(-middle / std::sqrt(2.0));
    const double density = std::exp(-middle * middle / 2) / std::sqrt(2 * M_PI);
    sum += middle * count * density * std::pow(below, count - 1) * kStep;
  }
  return sum;
}

}  // namespace

const std::array<CostPrior, kCosts>& cost_priors() {
  static const std::array<CostPrior, kCosts> priors{{
      {"host",
       "12 µs per module, 3.2 µs per tensor and replica, 24 µs per layer call: "
       "PyTorch 1.13, measured",
       0.7, 0.15},
      {"link", "NCCL's rates for the links that the table names", 0.5, 0.15},
      {"network", "12 GB/s for 100 Gbit/s (NCCL)", 0.5, 0.15},
      {"spread",
       "1.7 % of a step: minima and means of the one-device rows of the "
       "DataParallel grid",
       0.7, 0.4},
      {"interference",
       "10 % while a collective is in flight: 8 blocks of 80 processors", 0.7, 0.4},
      {"hook", "23 µs per gradient: one-device rows of the DDP table", 0.5, 0.4},
      {"server", "24 GB/s of memory, as in two-sockets.json", 0.7, 0.3},
  }};
  return priors;
}

StepParts step_time(const StepSetting& s, const CostFactors& factors) {
  StepParts parts;
  parts.compute = s.alone;
  if (s.sharing == Sharing::ddp && !s.hooked) {
    parts.hooks = kHook * factor_of(factors, Cost::hook) *
                  static_cast<double>(s.net->parameters.size());
  }
  if (s.devices < 2) return parts;
  parts.waiting = s.alone * kSpread * factor_of(factors, Cost::spread) *
                  expected_maximum(s.devices);
  switch (s.sharing) {
    case Sharing::dp:
      add_dp(s, factors, parts);
      break;
    case Sharing::server:
      add_servers(s, factors, parts);
      break;
    default:
      if (s.sum == Sum::per_tensor) {
        add_after(s, factors, parts);
      } else {
        add_overlapped(s, factors, parts);
      }
  }
  return parts;
}

double ring_bytes(const StepSetting& s) {
  return 2.0 * (s.devices - 1) / s.devices *
         static_cast<double>(s.net->numel() * s.gradient_bytes);
}

double expected_maximum(int count) {
  static std::mutex mutex;
  static std::map<int, double> known;
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = known.try_emplace(count, 0);
  if (is_new) at->second = integrate_maximum(count);
  return at->second;
}

std::vector<int64_t> bucket_bytes(const Net& net, int64_t cap, int64_t gradient_bytes) {
  std::vector<int64_t> sizes;
  for (const plan::Bucket& bucket :
       buckets_of(net, {plan::kFirstBucketBytes, cap}, gradient_bytes)) {
    int64_t bytes = 0;
    for (const size_t i : bucket) bytes += net.parameters[i].numel * gradient_bytes;
    sizes.push_back(bytes);
  }
  return sizes;
}

}  // namespace lockstep::tracer
