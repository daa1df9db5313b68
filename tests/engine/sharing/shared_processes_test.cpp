// A shared model whose workers are processes: here threads, each with an object and a
// mapping of its own, as processes have. tests/e2e/shared_test.py has real ones.
// sanitize: address thread
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <thread>
#include <vector>

#include "base/shared_memory.h"
#include "engine/sharing/shared_model.h"
#include "tests/engine/values.h"

namespace lockstep::sharing {
namespace {

/// Worker 0 creates each memory, and must do so before the others open it.
class Machine {
 public:
  Machine(UpdateBy rule, int workers, Milliseconds timeout = Milliseconds(60000)) {
    for (int w = 0; w < workers; ++w) {
      models.push_back(std::make_unique<SharedModel>(
          rule, workers, WorkerProcess{w, timeout, memory_of(w)}));
    }
  }
  void start(const std::vector<double>& values) {
    for (auto& model : models) model->start_with({test::vector(values, DType::f64)});
  }
  SharedModel& operator[](int worker) { return *models[worker]; }

  std::vector<std::unique_ptr<SharedModel>> models;

 private:
  ShareMemory memory_of(int worker) {
    auto next = std::make_shared<size_t>(0);
    return [this, worker, next](size_t bytes, const std::function<void(char*)>& fill) {
      if (worker == 0) {
        created_.push_back(std::make_shared<SharedMemory>(SharedMemory::create(bytes)));
        fill(created_.back()->data());
        return std::shared_ptr<char[]>(created_.back(), created_.back()->data());
      }
      const std::string address = created_[(*next)++]->address();
      const auto memory =
          std::make_shared<SharedMemory>(SharedMemory::open(address, bytes));
      return std::shared_ptr<char[]>(memory, memory->data());
    };
  }
  std::vector<std::shared_ptr<SharedMemory>> created_;
};

Update add(SharedModel& model, double step) {
  const Tensors read{Tensor::empty(model.tensors()[0].sizes(), kHost, DType::f64)};
  const int64_t version = model.read(read);
  std::vector<double> values = test::values_of(read[0]);
  for (double& value : values) value += step;
  return model.apply(read, {test::vector(values, DType::f64)}, version);
}

TEST(SharedProcesses, TrainOneModel) {
  constexpr int kWorkers = 3, kRounds = 200;
  Machine machine(UpdateBy::fetch_add, kWorkers);
  machine.start(std::vector<double>(16, 1));
  std::vector<int64_t> versions[kWorkers];
  std::vector<std::thread> threads;
  for (int w = 0; w < kWorkers; ++w) {
    threads.emplace_back([&, w] {
      machine[w].agree(true);
      for (int i = 0; i < kRounds; ++i) {
        versions[w].push_back(add(machine[w], w + 1).version);
      }
      machine[w].agree(true);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int w = 0; w < kWorkers; ++w) {
    EXPECT_EQ(test::values_of(machine[w].tensors()[0]),
              std::vector<double>(16, 1 + kRounds * (1 + 2 + 3)));
    EXPECT_EQ(machine[w].version(), kWorkers * kRounds);
    EXPECT_EQ(machine[w].totals().updates, kWorkers * kRounds);
  }
  std::vector<int64_t> all;
  for (const auto& of_one : versions)
    all.insert(all.end(), of_one.begin(), of_one.end());
  std::sort(all.begin(), all.end());
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], int64_t(i) + 1);
}

TEST(SharedProcesses, AllAgreeOrNone) {
  Machine machine(UpdateBy::store, 3);
  for (const bool last : {true, false, true}) {
    bool agreed[3];
    std::vector<std::thread> threads;
    for (int w = 0; w < 3; ++w) {
      threads.emplace_back([&, w] { agreed[w] = machine[w].agree(w > 0 || last); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const bool one : agreed) EXPECT_EQ(one, last);
  }
}

TEST(SharedProcesses, AWorkerThatDiesWithTheLockIsNamed) {
  Machine machine(UpdateBy::store, 3);
  std::thread([&] { machine[1].lock().acquire(); }).join();  // ends, and holds it
  std::string errors[2];
  std::thread other(
      [&] { errors[1] = test::message_of([&] { machine[2].lock().acquire(); }); });
  errors[0] = test::message_of([&] { machine[0].lock().acquire(); });
  other.join();
  for (const std::string& error : errors) {
    EXPECT_EQ(error, "rank 1 died while it held the model's lock");
  }
}

TEST(SharedProcesses, AWorkerThatKeepsTheLockIsNamed) {
  Machine machine(UpdateBy::store, 2, Milliseconds(100));
  machine[1].lock().acquire();
  std::string error;
  std::thread([&] {
    error = test::message_of([&] { machine[0].lock().acquire(); });
  }).join();
  EXPECT_EQ(error, "rank 1 did not reach the release of the model's lock within 0.1 s");
  machine[1].lock().release(tracer::kNone);
}

TEST(SharedProcesses, TheLockGoesFromOneToTheNext) {
  Machine machine(UpdateBy::store, 3);
  machine.start({0});
  std::vector<std::thread> threads;
  for (int w = 0; w < 3; ++w) {
    threads.emplace_back([&, w] {
      for (int i = 0; i < 50; ++i) {
        machine[w].lock().acquire();
        EXPECT_EQ(add(machine[w], 1).staleness(), 0);
        machine[w].lock().release(tracer::kNone);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(test::values_of(machine[0].tensors()[0])[0], 150);
}

TEST(SharedProcesses, AWorkerThatDoesNotComeIsNamed) {
  Machine machine(UpdateBy::store, 3, Milliseconds(100));
  std::string error;
  std::thread other([&] { test::message_of([&] { machine[2].agree(true); }); });
  error = test::message_of([&] { machine[0].agree(true); });
  other.join();
  EXPECT_EQ(error, "rank 1 did not reach the meeting of all workers within 0.1 s");
}

TEST(SharedProcesses, AllLearnThatOneIsToldToStop) {
  Machine machine(UpdateBy::store, 2);
  const std::atomic<bool> told{false};
  EXPECT_EQ(machine[0].told_to_stop(0), 0);
  bool passed = true;
  std::thread waits([&] { passed = machine[0].pass_gate(told); });
  EXPECT_EQ(machine[1].told_to_stop(SIGTERM), SIGTERM);
  waits.join();
  EXPECT_FALSE(passed) << "the other one does not come any more";
  EXPECT_EQ(machine[0].told_to_stop(SIGINT), SIGTERM);  // the first one
  EXPECT_EQ(machine[0].told_to_stop(0), SIGTERM);
}

TEST(SharedProcesses, AGateThatWasLeftIsUsedAgain) {
  Machine machine(UpdateBy::store, 2);
  const std::atomic<bool> told{true};
  EXPECT_FALSE(machine[0].pass_gate(told));
  const std::atomic<bool> nothing{false};
  std::thread waits([&] { EXPECT_TRUE(machine[0].pass_gate(nothing)); });
  EXPECT_TRUE(machine[1].pass_gate(nothing));
  waits.join();
}

TEST(SharedProcesses, TooManyAreRefused) {
  EXPECT_EQ(test::message_of([] { SharedModel(UpdateBy::store, 129); }),
            "129 workers of one model, but at most 128; fix: use fewer devices");
}

}  // namespace
}  // namespace lockstep::sharing
