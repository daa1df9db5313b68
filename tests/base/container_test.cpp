// The limits of cgroups, read from copies of the kernel's files.
// sanitize: address
#include "base/container.h"

#include <thread>

#include "tests/base/test_files.h"

namespace lockstep {
namespace {

using State = Limit::State;

class Container : public ScratchTest {
 protected:
  void file(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((scratch_ / path).parent_path());
    write_file(scratch_ / path, text);
  }
  void group(const std::string& lines) { file("proc/self/cgroup", lines); }
  /// A machine with cgroup v2 only; the process is in /a/b.
  void v2() {
    group("0::/a/b\n");
    file("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
    file("sys/fs/cgroup/a/b/cgroup.procs", "1\n");
  }
  ContainerLimits limits() const { return read_limits(scratch_); }
};

void expect_set(const Limit& limit, double value) {
  EXPECT_EQ(limit.state, State::set);
  EXPECT_DOUBLE_EQ(limit.value, value);
}

TEST_F(Container, V2Limits) {
  v2();
  file("sys/fs/cgroup/a/b/cpu.max", "150000 100000\n");
  file("sys/fs/cgroup/a/b/memory.max", "2147483648\n");
  expect_set(limits().cpus, 1.5);
  expect_set(limits().memory, 2147483648.0);
}

TEST_F(Container, AnEnclosingGroupMayBeStricter) {
  v2();
  file("sys/fs/cgroup/a/cpu.max", "200000 100000\n");
  file("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  expect_set(limits().cpus, 2);
  file("sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
  expect_set(limits().cpus, 2);
  file("sys/fs/cgroup/a/b/cpu.max", "100000 100000\n");
  expect_set(limits().cpus, 1);
}

TEST_F(Container, V2WithoutLimits) {
  v2();
  EXPECT_EQ(limits().cpus.state, State::none) << "a group without the controller";
  file("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  file("sys/fs/cgroup/a/b/memory.max", "max\n");
  EXPECT_EQ(limits().cpus.state, State::none);
  EXPECT_EQ(limits().memory.state, State::none);
}

TEST_F(Container, AContainerSeesItsOwnGroupAsTheRoot) {
  group("0::/\n");
  file("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
  file("sys/fs/cgroup/cpu.max", "50000 100000\n");
  expect_set(limits().cpus, 0.5);
  group("0::/docker/1a2b\n");  // the name outside, which is not mounted here
  expect_set(limits().cpus, 0.5);
}

TEST_F(Container, V1Limits) {
  group("5:memory:/docker/1a\n4:cpu,cpuacct:/docker/1a\n1:name=systemd:/\n0::/x\n");
  const std::string cpu = "sys/fs/cgroup/cpu,cpuacct/docker/1a/";
  file(cpu + "cpu.cfs_quota_us", "200000\n");
  file(cpu + "cpu.cfs_period_us", "100000\n");
  const std::string memory = "sys/fs/cgroup/memory/docker/1a/memory.limit_in_bytes";
  file(memory, "536870912\n");
  expect_set(limits().cpus, 2);
  expect_set(limits().memory, 536870912.0);
  file(cpu + "cpu.cfs_quota_us", "-1\n");
  file(memory, "9223372036854771712\n");
  EXPECT_EQ(limits().cpus.state, State::none);
  EXPECT_EQ(limits().memory.state, State::none);
}

TEST_F(Container, WhatCannotBeReadIsUnknown) {
  EXPECT_EQ(limits().cpus.state, State::unknown) << "nothing is there";
  EXPECT_EQ(limits().memory.state, State::unknown);
  EXPECT_FALSE(limits().shared.has_value());
  group("no colons\n0::/a/b\n");
  EXPECT_EQ(limits().cpus.state, State::unknown) << "not mounted";
  v2();
  for (const char* text : {"", "fast\n", "100000\n", "100000 0\n", "-5 100000\n"}) {
    file("sys/fs/cgroup/a/b/cpu.max", text);
    EXPECT_EQ(limits().cpus.state, State::unknown) << text;
  }
  file("sys/fs/cgroup/a/b/memory.max", "much\n");
  EXPECT_EQ(limits().memory.state, State::unknown);
  file("sys/fs/cgroup/a/memory.max", "1000\n");
  expect_set(limits().memory, 1000);  // what is known holds all the same
}

TEST_F(Container, SharedMemoryIsThatOfTheFileSystem) {
  std::filesystem::create_directories(scratch_ / "dev/shm");
  const auto shared = limits().shared;
  ASSERT_TRUE(shared.has_value());
  const auto space = std::filesystem::space(scratch_);
  EXPECT_EQ(shared->size, static_cast<int64_t>(space.capacity));
}

TEST(UsableCores, AreThoseOfTheQuotaRoundedUp) {
  EXPECT_EQ(usable_cores(16, {State::set, 2}), 2);
  EXPECT_EQ(usable_cores(16, {State::set, 1.5}), 2);
  EXPECT_EQ(usable_cores(16, {State::set, 0.2}), 1);
  EXPECT_EQ(usable_cores(2, {State::set, 8}), 2);
  EXPECT_EQ(usable_cores(16, {State::none, 0}), 16);
  EXPECT_EQ(usable_cores(16, {State::unknown, 0}), 16);
  EXPECT_GE(usable_cores(), 1);
  EXPECT_LE(usable_cores(), static_cast<int>(std::thread::hardware_concurrency()));
}

TEST(UsableCores, AreThoseThatTheThreadMayUse) {
  cpu_set_t before, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core) {
    if (CPU_ISSET(core, &before)) CPU_SET(core, &one);
  }
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  const int visible = visible_cores();
  ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(visible, 1);
  EXPECT_EQ(visible_cores(), CPU_COUNT(&before));
}

TEST(DescribedLimits, SayWhatTheyMeanForWorkers) {
  EXPECT_EQ(describe_cpus({State::set, 2.5}, 16),
            "2.5 CPUs of 16 visible cores: threads that use more are stopped until the "
            "next period; lockstep computes with 3, and --workers should be at most 2");
  EXPECT_EQ(describe_cpus({State::set, 16}, 16),
            "16 CPUs, not fewer than the 16 visible cores");
  EXPECT_NE(describe_cpus({State::set, 0.5}, 1).find("--workers should be at most 1"),
            std::string::npos);
  EXPECT_EQ(describe_cpus({State::none, 0}, 16), "none: all visible cores can be used");
  EXPECT_EQ(describe_cpus({}, 16), "unknown: no cgroup file could be read");
  EXPECT_EQ(describe_memory({State::set, 2e9}).substr(0, 8), "2.00 GB:");
  EXPECT_EQ(describe_memory({}), "unknown: no cgroup file could be read");
  EXPECT_EQ(describe_shared(SharedMemorySpace{67108864, 1000}).substr(0, 24),
            "67.1 MB, 1.00 kB free; -");
  EXPECT_EQ(describe_shared(std::nullopt), "unknown: /dev/shm cannot be read");
}

}  // namespace
}  // namespace lockstep
