// Through which calls an exception left: in one thread and across two, recorded or not.
// sanitize: address thread
#include "tracer/record/traceback.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "tracer/record/collect.h"

namespace lockstep::tracer {
namespace {

struct FailingNet {
  static void forward() {
    const CallSite call(std::source_location::current(), "fc");
    throw std::runtime_error("broken");
  }
  void operator()() const {
    const CallSite call(std::source_location::current());
    forward();
  }
};

/// Returns the traceback of what `action` throws.
template <typename Action>
Traceback traceback_of(Action action) {
  try {
    action();
  } catch (const std::exception&) {
    return take_traceback();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

TEST(Traceback, NamesTheCallsOutermostFirst) {
  const Traceback traceback = traceback_of([] { FailingNet()(); });
  ASSERT_EQ(traceback.frames.size(), 2u);
  const std::string text = traceback_text(traceback);
  EXPECT_EQ(text.rfind("Traceback (most recent call last):\n  File \"", 0), 0u) << text;
  EXPECT_LT(text.find("in FailingNet.__call__\n"), text.find("in FailingNet.forward\n"))
      << text;
  EXPECT_TRUE(take_traceback().frames.empty()) << "taken once only";
}

TEST(Traceback, ShowsTheLineThatCallsIfTheSourceIsKnown) {
  static const std::string source = [] {
    std::string text;
    for (int line = 1; line < 400; ++line) {
      text += "    line " + std::to_string(line) + ";\n";
    }
    return text;
  }();
  add_source(std::source_location::current().file_name(), source);
  int line = 0;
  const Traceback traceback = traceback_of([&line] {
    line = std::source_location::current().line() + 1;
    const CallSite call(std::source_location::current(), "fc", 2);
    throw std::runtime_error("broken");
  });
  const std::string wanted = std::to_string(line + 2);
  EXPECT_NE(traceback_text(traceback).find("line " + wanted + ", in "),
            std::string::npos);
  EXPECT_NE(traceback_text(traceback).find("\n    line " + wanted + ";\n"),
            std::string::npos)
      << traceback_text(traceback);
}

TEST(Traceback, AnErrorOutsideOfModulesNeedsNone) {
  const Traceback traceback = traceback_of([] {
    const CallSite call(std::source_location::current());
    throw std::runtime_error("no driver");
  });
  EXPECT_EQ(traceback.frames.size(), 1u);
  EXPECT_EQ(traceback_text(traceback), "");
}

TEST(Traceback, OfAnotherThreadIsContinued) {
  Traceback inner;
  std::thread([&inner] { inner = traceback_of([] { FailingNet()(); }); }).join();
  EXPECT_TRUE(take_traceback().frames.empty()) << "every thread has its own";
  const Traceback whole = traceback_of([&inner] {
    const CallSite call(std::source_location::current());
    continue_traceback(inner, "the thread of replica 1");
    throw std::runtime_error("again");
  });
  ASSERT_EQ(whole.frames.size(), 4u);
  const std::string text = traceback_text(whole);
  EXPECT_EQ(count(text, "  In the thread of replica 1:\n"), 1u) << text;
  EXPECT_LT(text.find("  File"), text.find("  In the thread"));
  EXPECT_LT(text.find("  In the thread"), text.find("FailingNet.forward"));
}

TEST(Traceback, ACallAfterACaughtExceptionForgetsIt) {
  try {
    FailingNet()();
  } catch (const std::exception&) {
  }
  const Traceback traceback = traceback_of([] {
    const CallSite call(std::source_location::current());
    throw std::runtime_error("another");
  });
  EXPECT_EQ(traceback.frames.size(), 1u);
  EXPECT_EQ(traceback_text({}), "");
}

TEST(Traceback, NamesTheInnermostRecordedEvent) {
  start_recording();
  int64_t inner = kNone;
  const Traceback traceback = traceback_of([&inner] {
    const HostEvent outer("call", "outer");
    {
      const HostEvent complete("op", "complete");
    }
    const HostEvent failing("op", "failing");
    inner = failing.id();
    throw std::runtime_error("broken");
  });
  stop_recording();
  EXPECT_NE(inner, kNone);
  EXPECT_EQ(traceback.event, inner);
  EXPECT_EQ(failed_event(), kNone);
  EXPECT_EQ(collect().size(), 3u + 4u) << "with two names each of a process and a lane";
}

}  // namespace
}  // namespace lockstep::tracer
