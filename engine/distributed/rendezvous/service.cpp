#include "engine/distributed/rendezvous/service.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "base/monotonic.h"
#include "engine/distributed/rendezvous/store.h"

namespace lockstep::distributed::store {
namespace {

int64_t number(const std::string& text) {
  if (const auto value = parse_number(text)) return *value;
  throw std::runtime_error("\"" + shown(text) + "\" is not a number");
}

int small_number(const std::string& text) {
  const int64_t value = number(text);
  if (std::in_range<int>(value)) return static_cast<int>(value);
  throw std::runtime_error(text + " is too large");
}

bool has_its_fields(const Frame& request) {
  const size_t count = request.fields.size();
  switch (request.op) {
    case Op::ping:
      return count == 0;
    case Op::set:
      return count == 2;
    case Op::get:
      return count == 2;
    case Op::try_get:
      return count == 1;
    case Op::add:
      return count == 2;
    case Op::wait:
      return count >= 1;
    case Op::compare_set:
      return count == 3;
    case Op::remove:
      return count == 1;
    case Op::join:
      return count == 3;
    case Op::leave:
      return count == 0;
    case Op::clock:
      return count == 0;
    case Op::beat:
      return count == 4;
    default:
      return false;  // an answer is not a request
  }
}

/// Returns whether a request of this kind may be what a parked one waits for.
bool may_complete(Op op) {
  return op == Op::set || op == Op::add || op == Op::compare_set || op == Op::get ||
         op == Op::wait;
}

}  // namespace

Service::Answers Service::handle(Client from, const Frame& request) {
  Answers answers;
  try {
    if (rank_0_is_refused_ && request.op != Op::leave) {
      throw std::runtime_error(refused_to_join_);
    }
    if (!has_its_fields(request)) throw std::runtime_error("this is not a request");
    if (request.op == Op::get || request.op == Op::wait) {
      park(from, request);
    } else {
      answers.push_back({from, answer_to(from, request)});
    }
  } catch (const std::runtime_error& error) {
    answers = {{from, {Op::refused, {error.what()}}}};
    if (rank_0_is_refused_) refuse_all(answers);
    return answers;
  }
  if (may_complete(request.op)) wake(answers);  // also the request just parked
  return answers;
}

Frame Service::answer_to(Client from, const Frame& request) {
  const Fields& fields = request.fields;
  switch (request.op) {
    case Op::set:
      set(fields[0], fields[1]);
      return {Op::done, {}};
    case Op::try_get:
      if (const auto value = values_.find(fields[0])) return {Op::done, {*value}};
      return {Op::missing, {fields[0]}};
    case Op::add: {
      const std::string sum =
          std::to_string(values_.plus(fields[0], number(fields[1])));
      set(fields[0], sum);
      return {Op::done, {sum}};
    }
    case Op::compare_set: {
      const auto &key = fields[0], &expected = fields[1], &desired = fields[2];
      if (values_.matches(key, expected)) set(key, desired);
      return {Op::done, {values_.find(key).value_or(expected)}};
    }
    case Op::remove:
      return {Op::done, {values_.remove(fields[0]) ? "1" : "0"}};
    case Op::join:
      join(from, fields);
      return {Op::done, {}};
    case Op::leave:
      leave(from);
      return {Op::done, {}};
    case Op::beat:
      return beat(fields);
    case Op::clock:
      return {Op::done, {std::to_string(monotonic_ns())}};
    default:
      return {Op::done, {}};  // ping
  }
}

void Service::set(const std::string& key, const std::string& value) {
  const size_t more = key.size() + value.size();
  const auto before = values_.find(key);
  const size_t less = before ? key.size() + before->size() : 0;
  if (more > less && values_.bytes() - less + more > most_bytes_) {
    throw std::runtime_error(fmt::format(
        "the store is full: its keys and values are limited to {} bytes", most_bytes_));
  }
  values_.set(key, value);
}

Frame Service::beat(const Fields& fields) {
  const auto mine = beat_of(fields);
  if (!mine) throw std::runtime_error("this is not a heartbeat");
  const TimePoint now = Clock::now();
  heartbeats_.note(*mine, now);
  return {Op::done,
          fields_of(heartbeats_.health(mine->rank, now, values_.by_rank("gone/"),
                                       values_.by_rank("failed/")))};
}

void Service::join(Client from, const Fields& fields) {
  const int rank = small_number(fields[0]), world_size = small_number(fields[1]);
  check_rank(rank, world_size);
  if (const auto refusal = members_.refusal(rank, world_size, fields[2])) {
    refused_to_join_ = *refusal;
    rank_0_is_refused_ |= rank == 0;
    throw std::runtime_error(*refusal);
  }
  members_.join(rank, world_size, fields[2]);
  present_[rank] = from;
}

void Service::leave(Client from) {
  for (const auto& [rank, client] : present_) {
    if (client == from) members_.leave(rank);
  }
  std::erase_if(present_, [&](const auto& member) { return member.second == from; });
}

void Service::park(Client from, const Frame& request) {
  const Fields& fields = request.fields;
  const Milliseconds timeout(number(fields[0]));
  waits_.push_back(
      {from, request.op, {fields.begin() + 1, fields.end()}, deadline_after(timeout)});
}

void Service::refuse_all(Answers& answers) {
  for (const Wait& wait : waits_) {
    answers.push_back({wait.client, {Op::refused, {refused_to_join_}}});
  }
  waits_.clear();
}

void Service::wake(Answers& answers) {
  std::erase_if(waits_, [&](const Wait& wait) {
    if (!values_.missing(wait.keys).empty()) return false;
    Frame answer{Op::done, {}};
    if (wait.op == Op::get) answer.fields = {*values_.find(wait.keys[0])};
    answers.push_back({wait.client, std::move(answer)});
    return true;
  });
}

Service::Answers Service::disconnected(Client client) {
  Answers answers;
  std::erase_if(waits_, [&](const Wait& wait) { return wait.client == client; });
  for (const auto& [rank, joined_on] : present_) {
    if (joined_on == client) values_.set(gone_key(rank), "connection lost");
  }
  std::erase_if(present_, [&](const auto& member) { return member.second == client; });
  wake(answers);
  return answers;
}

Service::Answers Service::expire(TimePoint now) {
  Answers answers;
  std::erase_if(waits_, [&](const Wait& wait) {
    if (now < wait.deadline) return false;
    answers.push_back({wait.client, {Op::missing, values_.missing(wait.keys)}});
    return true;
  });
  return answers;
}

std::optional<TimePoint> Service::next_deadline() const {
  std::optional<TimePoint> next;
  for (const Wait& wait : waits_) {
    if (!next || wait.deadline < *next) next = wait.deadline;
  }
  return next;
}

}  // namespace lockstep::distributed::store
