// Which GPU a device is on: in one process its own number, in a rank's LOCAL_RANK.
#include <gtest/gtest.h>

#include "engine/backends/load_cuda.h"

namespace lockstep {
namespace {

class GpuChoice : public ::testing::Test {
 protected:
  ~GpuChoice() override { set_gpu_shift(0); }

  static int gpu_of_rank(int rank, int local_rank, int gpus) {
    set_gpu_shift(local_rank - rank);
    return gpu_of_device(rank, gpus);
  }
};

TEST_F(GpuChoice, DevicesOfOneProcessAreNumberedAsItsGpus) {
  EXPECT_EQ(gpu_of_device(3, 4), 3);
  EXPECT_EQ(gpu_of_device(5, 4), 1) << "devices share GPUs if there are fewer";
}

TEST_F(GpuChoice, ARanksGpuIsItsLocalRank) {
  EXPECT_EQ(gpu_of_rank(5, 1, 4), 1);  // the second machine's second rank
  // Placed in turn on two machines: ranks 0 and 2 would share GPU 0 of two.
  EXPECT_EQ(gpu_of_rank(0, 0, 2), 0);
  EXPECT_EQ(gpu_of_rank(2, 1, 2), 1);
  EXPECT_EQ(gpu_of_rank(7, 3, 1), 0) << "each task of Slurm may see one GPU only";
}

}  // namespace
}  // namespace lockstep
