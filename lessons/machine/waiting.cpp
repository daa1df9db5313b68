#include "lessons/machine/waiting.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <mutex>
#include <thread>

#include "lessons/machine/stuck.h"
#include "lessons/plugin.h"

namespace lockstep::lessons {

namespace {

/// Returns how often a thread of this process has left its core without sleeping.
int64_t switches_of(pid_t thread) {
  std::ifstream status(fmt::format("/proc/self/task/{}/status", thread));
  int64_t sum = 0;
  for (std::string line; std::getline(status, line);) {
    const size_t colon = line.find("nonvoluntary_ctxt_switches:");
    if (colon != line.npos) sum += std::stoll(line.substr(colon + 27));
  }
  return sum;
}

}  // namespace

struct Call::State {
  std::atomic<pid_t> thread{0};
  clockid_t cpu{};
  std::mutex mutex;  // not an atomic flag: ThreadSanitizer sees mutexes even in files
                     // that were compiled without it, such as this one
  bool returned = false;
  std::string result;
  std::vector<LockCall> locks;
  std::exception_ptr not_written;
};

Call::Call(std::function<std::string()> body) : state_(std::make_shared<State>()) {
  std::thread([state = state_, body = std::move(body)]() mutable {
    pthread_getcpuclockid(pthread_self(), &state->cpu);
    state->thread = gettid();
    std::string result;
    std::exception_ptr not_written;
    try {
      result = body();
    } catch (const NotWritten&) {
      not_written = std::current_exception();
    } catch (const std::exception& error) {
      result = std::string("thrown: ") + error.what();
    }
    body = nullptr;  // it shares ownership of what it calls
    std::lock_guard lock(state->mutex);
    state->locks = take_noted_locks();
    state->result = std::move(result);
    state->not_written = not_written;
    state->returned = true;
  }).detach();
}

bool Call::returned() const {
  std::lock_guard lock(state_->mutex);
  return state_->returned;
}

std::string Call::result() const {
  if (state_->not_written) std::rethrow_exception(state_->not_written);
  return state_->result;
}

const std::vector<LockCall>& Call::locks() const { return state_->locks; }

std::string Call::rest() const {
  return returned() ? "returned" : sleep_of(state_->thread);
}

bool Call::spins() const {
  if (state_->thread == 0) return false;
  timespec used{};
  const bool busy = clock_gettime(state_->cpu, &used) == 0 &&
                    (used.tv_sec > 0 || used.tv_nsec > 50'000'000);
  return busy || switches_of(state_->thread) > 200;
}

void settle(const std::vector<Call>& calls, const std::string& read) {
  const auto look = [&] {
    std::vector<std::string> rests;
    for (const Call& call : calls) rests.push_back(call.rest());
    return rests;
  };
  for (;;) {
    const auto before = look(), after = look();
    if (before == after && std::ranges::find(after, "") == after.end()) return;
    for (const Call& call : calls) {
      if (call.returned() || !call.spins()) continue;
      throw Wrong{"a waiting thread",
                  "it sleeps",
                  "it keeps a core busy",
                  {"a busy loop occupies a core that should compute: "
                   "std::condition_variable::wait sleeps until it is woken",
                   read}};
    }
    std::this_thread::yield();
  }
}

}  // namespace lockstep::lessons
