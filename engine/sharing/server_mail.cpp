#include "engine/sharing/server_mail.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

namespace lockstep::sharing {
namespace {

using Json = nlohmann::json;

/// How long one question to the store may last: the time after which the death of a
/// rank is noticed.
constexpr Milliseconds kSlice{100};

std::string text_of(const Request& r) {
  return Json{static_cast<int>(r.what),
              r.worker,
              r.step,
              r.event,
              r.records,
              r.lr,
              r.stop,
              r.signal}
      .dump();
}

Request request_of(const std::string& text, int64_t number) {
  const Json list = Json::parse(text);
  Request r;
  r.what = static_cast<Request::What>(list.at(0).get<int>());
  r.worker = list.at(1);
  r.step = list.at(2);
  r.event = list.at(3);
  r.records = list.at(4);
  r.lr = list.at(5);
  r.stop = list.at(6);
  r.signal = list.at(7);
  r.number = number;
  return r;
}

std::string text_of(const Answer& a) {
  return Json{a.version, a.discarded, a.stop, a.signal, a.awaited,
              a.last,    a.event,     a.peak, a.state}
      .dump();
}

Answer answer_of(const std::string& text) {
  const Json list = Json::parse(text);
  Answer a;
  a.version = list.at(0);
  a.discarded = list.at(1);
  a.stop = list.at(2);
  a.signal = list.at(3);
  a.awaited = list.at(4).get<std::vector<int>>();
  a.last = list.at(5);
  a.event = list.at(6);
  a.peak = list.at(7);
  a.state = list.at(8);
  return a;
}

}  // namespace

ServerMail::ServerMail(std::shared_ptr<distributed::Store> store, int server,
                       int servers, RequireAll require_all)
    : store_(std::make_shared<distributed::PrefixStore>(
          fmt::format("server/{}", server), std::move(store))),
      server_(server),
      servers_(servers),
      require_all_(std::move(require_all)) {}

/// The requests to all servers have different numbers.
int64_t ServerMail::ask(Request request) const {
  const int64_t place = store_->add("requests", 1);
  store_->set(fmt::format("request/{}", place), text_of(request));
  return place * servers_ + server_;
}

Request ServerMail::next(const std::function<void()>& meanwhile) {
  const int64_t place = next_++;
  const std::string key = fmt::format("request/{}", place);
  const Request request =
      request_of(wait_for(key, meanwhile), place * servers_ + server_);
  store_->remove(key);
  return request;
}

void ServerMail::answer(int64_t number, const Answer& answer) const {
  store_->set(fmt::format("answer/{}", number), text_of(answer));
}

Answer ServerMail::read_answer(int64_t number) const {
  const std::string key = fmt::format("answer/{}", number);
  const Answer answer = answer_of(wait_for(key, [] {}));
  store_->remove(key);
  return answer;
}

/// A store that does not respond may do so again; if it does not, `require_all_`
/// throws.
std::string ServerMail::wait_for(const std::string& key,
                                 const std::function<void()>& meanwhile) const {
  std::optional<TimePoint> gone;
  while (true) {
    try {
      return store_->get(key, kSlice);
    } catch (const distributed::StoreTimeout&) {
      gone.reset();
    } catch (const distributed::StoreGone&) {
      if (!gone) gone = Clock::now();
      if (Clock::now() - *gone > store_->timeout()) throw;
      std::this_thread::sleep_for(kSlice);
    }
    require_all_();
    meanwhile();
  }
}

}  // namespace lockstep::sharing
