// A journal holds what was recorded, whatever becomes of its process.
// sanitize: address thread
#include "tracer/record/journal.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <random>
#include <thread>

#include "tests/tracer/record/recorded_steps.h"
#include "tracer/format/partial.h"
#include "tracer/record/collect.h"
#include "tracer/record/journal_file.h"

namespace lockstep::tracer {
namespace {

class JournalTest : public ::testing::Test {
 protected:
  JournalTest()
      : file_(::testing::TempDir() + "journal-" + std::to_string(::getpid()) + "-" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name() +
              ".json.partial") {}
  ~JournalTest() override {
    stop_recording();
    collect();
    remove_journal();
    set_origin(0);
    std::filesystem::remove(file_);
  }

  void begin() const { ASSERT_EQ(open_journal(file_, recorded::description()), ""); }
  std::string bytes() const { return read_whole_file(file_); }

  std::string file_;
};

std::string lines_of(Trace trace) {
  trace.lockstep.erase(top::partial);
  return trace_text(trace);
}

TEST_F(JournalTest, HoldsTheTraceThatIsCollected) {
  begin();
  recorded::make_steps(0, 3);
  const Trace read = read_journal(bytes(), file_);  // while it is open
  EXPECT_EQ(partial_of(read)->text(), "it ends early, after step 2");
  Trace collected = finish_trace(recorded::description(), collect());
  keep_complete_steps(collected);
  EXPECT_EQ(lines_of(read), lines_of(collected));
  EXPECT_GT(read.events.size(), 40u);
}

TEST_F(JournalTest, GoesOnWithManyBlocksAndCollections) {
  begin();
  recorded::make_steps(0, 300);
  collect();
  recorded::make_steps(300, 600);
  const Trace read = read_journal(bytes(), file_);
  EXPECT_EQ(read.lockstep[top::steps], 600);
  EXPECT_EQ(partial_of(read)->last_step, 599);
}

TEST_F(JournalTest, WhatWasRecordedBeforeItIsNotInIt) {
  recorded::make_steps(0, 2);
  begin();
  recorded::make_steps(2, 4);
  const Trace read = read_journal(bytes(), file_);
  EXPECT_EQ(read.lockstep[top::steps], 2);
  for (const Event& event : read.events) {
    if (event.ph == 'X') EXPECT_GE(event.step, 2);
  }
  Trace all = finish_trace(recorded::description(), collect());
  EXPECT_EQ(all.lockstep[top::steps], 4);
}

TEST_F(JournalTest, OutlivesAKilledProcess) {
  const pid_t child = ::fork();
  if (child == 0) {
    begin();
    recorded::make_steps(0, 5);
    const HostEvent begun("phase", "step");  // of step 5, which never ends
    recorded::make_task(5);
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  const FileText text = open_trace_text(file_);
  const Trace trace = parse_trace(text, file_);
  EXPECT_EQ(trace.lockstep[top::steps], 5);
  EXPECT_EQ(partial_of(trace)->last_step, 4);
  EXPECT_TRUE(trace.lockstep[top::sources].contains("recorded/steps.cpp"));
}

TEST_F(JournalTest, EndsWhereTheDiskWasFull) {
  begin();
  recorded::make_steps(0, 3);
  const int64_t full_at = now_ns();
  recorded::make_steps(3, 6);
  std::string text = bytes();
  std::memcpy(text.data() + offsetof(JournalStart, full_at), &full_at, sizeof full_at);
  EXPECT_EQ(partial_of(read_journal(text, file_))->last_step, 2);
}

TEST_F(JournalTest, WhatIsRecordedAfterItsEndIsNotInIt) {
  begin();
  recorded::make_steps(0, 2);
  close_journal();
  recorded::make_steps(2, 4);
  EXPECT_EQ(partial_of(read_journal(bytes(), file_))->last_step, 1);
  EXPECT_EQ(finish_trace(recorded::description(), collect()).lockstep[top::steps], 4);
}

TEST_F(JournalTest, NoCompleteStepIsAnErrorThatSaysSo) {
  begin();
  recorded::make_task(0);
  EXPECT_THROW(read_journal(bytes(), file_), NoCompleteStep);
}

TEST_F(JournalTest, StepsThatWereLeftOutAreNotInIt) {
  begin();
  recorded::make_steps(0, 3);
  leave_out_of_journal(1);
  EXPECT_EQ(read_journal(bytes(), file_).lockstep[top::steps], 2);
}

TEST_F(JournalTest, ThreadsRecordWhileItIsRead) {
  begin();
  recorded::make_steps(0, 1);
  std::thread recording([] { recorded::make_steps(1, 200); });
  int64_t last = 0;
  while (last < 199) {
    const Trace read = read_journal(bytes(), file_);
    const int64_t now = partial_of(read)->last_step;
    EXPECT_GE(now, last);
    last = now;
  }
  recording.join();
}

TEST_F(JournalTest, NothingInADamagedFileIsBelieved) {
  begin();
  recorded::make_steps(0, 3);
  std::string whole = bytes();
  whole.resize(whole.find_last_not_of('\0') + 1);
  std::mt19937 random(7);
  for (int i = 0; i < 600; ++i) {
    std::string damaged = whole;
    for (int n = 0; n < 8; ++n) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    if (i % 3 == 0) damaged.resize(random() % damaged.size());
    try {
      trace_text(read_journal(damaged, file_));
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find(file_), std::string::npos);
    }
  }
}

TEST_F(JournalTest, WithoutAFileRecordingGoesOnInMemory) {
  EXPECT_EQ(open_journal("/no/such/folder/t.partial", recorded::description()),
            "No such file or directory");
  EXPECT_EQ(open_journal_file(), "");
  recorded::make_steps(0, 2);
  EXPECT_GT(collect().size(), 20u);
}

TEST_F(JournalTest, IsRemovedWithItsFile) {
  begin();
  EXPECT_EQ(open_journal_file(), file_);
  recorded::make_steps(0, 1);
  collect();
  remove_journal();
  EXPECT_FALSE(std::filesystem::exists(file_));
  recorded::make_steps(1, 2);  // in memory again
  EXPECT_GT(collect().size(), 10u);
}

}  // namespace
}  // namespace lockstep::tracer
