#include "engine/distributed/rendezvous/store.h"

#include <fmt/format.h>

#include "engine/distributed/rendezvous/frame.h"

namespace lockstep::distributed {

StoreTimeout::StoreTimeout(std::vector<std::string> keys, const std::string& store,
                           Milliseconds timeout)
    : std::runtime_error(fmt::format("{}: no {} after {}; is every rank running?",
                                     store, store::quoted(keys),
                                     store::seconds(within_reason(timeout)))),
      keys_(std::move(keys)),
      timeout_(timeout) {}

std::string gone_key(int rank) { return fmt::format("gone/{}", rank); }

std::string failed_key(int rank) { return fmt::format("failed/{}", rank); }

void HashStore::set(const std::string& key, const std::string& value) {
  std::lock_guard lock(mutex_);
  values_.set(key, value);
  changed_.notify_all();
}

void HashStore::wait_for(std::unique_lock<std::mutex>& lock,
                         const std::vector<std::string>& keys, Milliseconds timeout) {
  const auto deadline = deadline_after(timeout);
  const auto all_there = [&] { return values_.missing(keys).empty(); };
  if (!changed_.wait_until(lock, deadline, all_there)) {
    throw StoreTimeout(values_.missing(keys), describe(), timeout);
  }
}

void HashStore::wait(const std::vector<std::string>& keys, Milliseconds timeout) {
  std::unique_lock lock(mutex_);
  wait_for(lock, keys, timeout);
}

std::string HashStore::get(const std::string& key, Milliseconds timeout) {
  std::unique_lock lock(mutex_);
  wait_for(lock, {key}, timeout);
  return *values_.find(key);
}

std::optional<std::string> HashStore::try_get(const std::string& key) {
  std::lock_guard lock(mutex_);
  return values_.find(key);
}

int64_t HashStore::add(const std::string& key, int64_t amount) {
  std::lock_guard lock(mutex_);
  const int64_t sum = values_.plus(key, amount);
  values_.set(key, std::to_string(sum));
  changed_.notify_all();
  return sum;
}

std::string HashStore::compare_set(const std::string& key, const std::string& expected,
                                   const std::string& desired) {
  std::lock_guard lock(mutex_);
  if (!values_.matches(key, expected)) return values_.find(key).value_or(expected);
  values_.set(key, desired);
  changed_.notify_all();
  return desired;
}

bool HashStore::remove(const std::string& key) {
  std::lock_guard lock(mutex_);
  return values_.remove(key);
}

Health HashStore::beat(const Beat& mine) {
  std::lock_guard lock(mutex_);
  const TimePoint now = Clock::now();
  heartbeats_.note(mine, now);
  return heartbeats_.health(mine.rank, now, values_.by_rank("gone/"),
                            values_.by_rank("failed/"));
}

void HashStore::join(int rank, int world_size) {
  store::check_rank(rank, world_size);
  const std::string who = store::this_process();
  std::lock_guard lock(mutex_);
  if (const auto refusal = members_.refusal(rank, world_size, who)) {
    throw std::runtime_error(describe() + ": " + *refusal);
  }
  members_.join(rank, world_size, who);
}

PrefixStore::PrefixStore(std::string prefix, std::shared_ptr<Store> store)
    : Store(store->timeout()), prefix_(std::move(prefix)), store_(std::move(store)) {}

void PrefixStore::set(const std::string& key, const std::string& value) {
  store_->set(joined(key), value);
}

std::string PrefixStore::get(const std::string& key, Milliseconds timeout) {
  return store_->get(joined(key), timeout);
}

std::optional<std::string> PrefixStore::try_get(const std::string& key) {
  return store_->try_get(joined(key));
}

int64_t PrefixStore::add(const std::string& key, int64_t amount) {
  return store_->add(joined(key), amount);
}

void PrefixStore::wait(const std::vector<std::string>& keys, Milliseconds timeout) {
  std::vector<std::string> all;
  for (const std::string& key : keys) all.push_back(joined(key));
  store_->wait(all, timeout);
}

std::string PrefixStore::compare_set(const std::string& key,
                                     const std::string& expected,
                                     const std::string& desired) {
  return store_->compare_set(joined(key), expected, desired);
}

bool PrefixStore::remove(const std::string& key) { return store_->remove(joined(key)); }

std::string PrefixStore::describe() const { return store_->describe(); }

}  // namespace lockstep::distributed
