#include "engine/distributed/rendezvous/clocks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "base/deadline.h"
#include "base/monotonic.h"
#include "engine/distributed/rendezvous/table.h"
#include "tracer/record/recorder.h"

namespace lockstep::distributed {
namespace {

constexpr int kFewest = 4, kMost = 24;  ///< round trips of a comparison
/// A comparison holds up training: across a slow network it makes fewer trips.
constexpr int64_t kLongEnough = 200'000'000;
constexpr Milliseconds kPatience(5000);

}  // namespace

ClockSample compare_clocks(const std::vector<RoundTrip>& trips) {
  const auto shorter = [](const RoundTrip& a, const RoundTrip& b) {
    return a.answered - a.asked < b.answered - b.asked;
  };
  const RoundTrip& best = *std::min_element(trips.begin(), trips.end(), shorter);
  const int64_t took = best.answered - best.asked, middle = best.asked + took / 2;
  return {middle, best.theirs - middle, took};
}

std::string clock_name() {
  constexpr const char* kMachines = "time:[4026531834]";  // PROC_TIME_INIT_INO
  char space[64] = "";
  (void)!::readlink("/proc/self/ns/time", space, sizeof space - 1);
  const bool own = *space && std::string(space) != kMachines;
  return tracer::boot_id() + (own ? std::string("/") + space : "");
}

RankClock::RankClock(Store& store, int rank, const std::string& address)
    : name_(clock_name()) {
  const std::string key = "clock";
  if (rank == 0) {
    credentials_.secret = draw_secret();
    server_ = std::make_unique<TcpStoreServer>(address, 0, TcpStoreServer::Limits{},
                                               credentials_);
    store.set(key, fmt::format("{} {} {} {}", address, server_->port(),
                               credentials_.secret, name_));
    return;
  }
  std::string theirs;
  std::istringstream(store.get(key)) >> host_ >> port_ >> credentials_.secret >> theirs;
  const ClockSample first = ask();
  const bool confirmed = std::abs(first.offset_ns) <= first.round_trip_ns;
  is_reference_ = name_ == theirs && confirmed;
  if (name_ == theirs && !confirmed) name_ += "@" + store::host_name();
  if (!is_reference_) samples_.push_back(first);
}

void RankClock::compare() {
  if (is_reference_) return;
  try {
    samples_.push_back(ask());
  } catch (const std::exception&) {  // a failed rank is reported elsewhere
  }
}

ClockSample RankClock::ask() const {
  TcpStore server(host_, port_, kPatience, nullptr, credentials_);
  std::vector<RoundTrip> trips;
  const int64_t began = monotonic_ns();
  const auto is_done = [&] {
    const int count = static_cast<int>(trips.size());
    return count >= kMost || (count >= kFewest && monotonic_ns() - began > kLongEnough);
  };
  while (!is_done()) {
    const int64_t asked = monotonic_ns();
    const int64_t theirs = server.server_clock();
    trips.push_back({asked, theirs, monotonic_ns()});
  }
  return compare_clocks(trips);
}

}  // namespace lockstep::distributed
