// sanitize: address
#include "base/shared_memory.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

namespace lockstep {
namespace {

std::string error_of_opening(const std::string& address, size_t bytes) {
  try {
    SharedMemory::open(address, bytes);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

TEST(SharedMemory, IsTheSameInEveryMapping) {
  SharedMemory mine = SharedMemory::create(1000);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(mine.data()) % 64, 0U);
  EXPECT_EQ(mine.data()[999], 0);
  const SharedMemory other = SharedMemory::open(mine.address(), 1000);
  EXPECT_NE(other.data(), mine.data());
  mine.data()[999] = 7;
  EXPECT_EQ(other.data()[999], 7);
}

/// Another process opens it by the same path of /proc, which a shell can read.
TEST(SharedMemory, CanBeOpenedByAnotherProcess) {
  const SharedMemory memory = SharedMemory::create(4);
  std::copy_n("yes\n", 4, memory.data());
  int number = 0;
  ASSERT_EQ(std::sscanf(memory.address().c_str(), "%*d %d", &number), 1);
  const std::string command =
      fmt::format("tail -c 4 /proc/{}/fd/{} | grep -q yes", ::getpid(), number);
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST(SharedMemory, CannotBeOpenedOnceSealed) {
  SharedMemory memory = SharedMemory::create(8);
  const std::string address = memory.address();
  memory.seal();
  const std::string error = error_of_opening(address, 8);
  EXPECT_TRUE(says(error, fmt::format("memory of process {}", ::getpid()))) << error;
  EXPECT_TRUE(says(error, "fix: start all workers on one machine")) << error;
  memory.data()[7] = 1;  // it is still mapped
}

TEST(SharedMemory, OtherMemoryIsNotTaken) {
  const SharedMemory memory = SharedMemory::create(8);
  EXPECT_TRUE(says(error_of_opening(memory.address(), 16), "it has another size"));
  std::string address = memory.address();
  address.back() = address.back() == '1' ? '2' : '1';
  EXPECT_TRUE(says(error_of_opening(address, 8), "it is another run's"));
  EXPECT_TRUE(says(error_of_opening("nonsense", 8), "not the address"));
}

}  // namespace
}  // namespace lockstep
