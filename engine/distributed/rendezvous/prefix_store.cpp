#include "engine/distributed/rendezvous/prefix_store.h"

namespace lockstep::distributed {

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
