// Core tokens are granted in the order of acquire(), never more than exist.
// sanitize: thread
#include "engine/runtime/core_tokens.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace lockstep::runtime {
namespace {

TEST(CoreTokens, GivesAtMostWhatThereIs) {
  CoreTokens tokens(3);
  EXPECT_EQ(tokens.cores(), 3);
  EXPECT_EQ(tokens.acquire(2), 2);
  tokens.release(2);
  EXPECT_EQ(tokens.acquire(100), 3);
  tokens.release(3);
}

TEST(CoreTokens, NeverMoreThanTheCores) {
  constexpr int kCores = 3;
  CoreTokens tokens(kCores);
  std::atomic<int> in_use{0}, most{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i) {
        const int got = tokens.acquire(1 + (t + i) % kCores);
        const int now = in_use += got;
        int seen = most;
        while (seen < now && !most.compare_exchange_weak(seen, now)) {
        }
        in_use -= got;
        tokens.release(got);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, kCores);
  EXPECT_GE(most, 1);
}

/// A thread with an observable blocked state.
class Asker {
 public:
  Asker(CoreTokens& tokens, int count, char name, std::string& order)
      : thread_([this, &tokens, count, name, &order] {
          id_ = gettid();
          tokens.acquire(count);
          order += name;  // guarded by the tokens: the threads never hold them together
          tokens.release(count);
          ended_ = true;
        }) {}
  ~Asker() { thread_.join(); }

  /// Returns once the thread sleeps in the kernel (in `acquire`) or has ended.
  void wait_until_settled() const {
    while (!ended_) {
      std::string word, state;
      std::ifstream stat("/proc/self/task/" + std::to_string(id_) + "/stat");
      if (id_ != 0 && stat >> word >> word >> state && state == "S") return;
      std::this_thread::yield();
    }
  }

 private:
  std::atomic<pid_t> id_{0};
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

// A small kernel must not overtake an earlier one that needs both cores, although one
// core is free.
TEST(CoreTokens, FirstComeFirstServed) {
  CoreTokens tokens(2);
  std::string order;
  ASSERT_EQ(tokens.acquire(1), 1);
  {
    const Asker large(tokens, 2, 'L', order);
    large.wait_until_settled();
    const Asker small(tokens, 1, 's', order);
    small.wait_until_settled();
    tokens.release(1);
  }
  EXPECT_EQ(order, "Ls");
  EXPECT_EQ(tokens.acquire(2), 2) << "all tokens were returned";
}

}  // namespace
}  // namespace lockstep::runtime
