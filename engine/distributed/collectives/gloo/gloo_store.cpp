#include "engine/distributed/collectives/gloo/gloo_store.h"

#include <fmt/format.h>

namespace lockstep::distributed {

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

}  // namespace lockstep::distributed
