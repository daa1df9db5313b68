// Collectives of a profiler's file: called and sized as where they were launched.
// sanitize: address
#include "tests/tracer/golden.h"
#include "tests/tracer/kineto/profiler_file.h"
#include "tracer/analysis/summary.h"
#include "tracer/format/args.h"

namespace lockstep::tracer {
namespace {

using namespace testing;  // NOLINT

constexpr const char* kSendRecv = "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(...)";

/// The summary's collective of a file in which `kernel` was launched at 20 µs.
CollectiveTime only_collective(ProfilerFile file, const std::string& kernel) {
  file.step(1, 0, 100).kernel(kernel, 20, 40, 10, 24);
  const Summary summary = summarize(file.imported());
  const auto& all = summary.train.steps.at(0).collectives;
  EXPECT_EQ(all.size(), 1u);
  return all.empty() ? CollectiveTime() : all[0];
}

ProfilerFile annotated(const char* name, const char* args) {
  return ProfilerFile().host("user_annotation", name, 15, 10, args);
}

TEST(ImportedCollectives, TakeNameAndSizeFromTheirAnnotation) {
  const auto time = only_collective(
      annotated("nccl:all_to_all",
                R"("Input Dims": [[65536, 3], [8]], "Input type": ["float", "float"])"),
      kSendRecv);
  EXPECT_EQ(time.what, "all_to_all");
  EXPECT_EQ(time.bytes, (65536 * 3 + 8) * 4);
  EXPECT_EQ(only_collective(annotated("nccl:_reduce_scatter_base", ""), kSendRecv).what,
            "reduce_scatter");
  EXPECT_EQ(only_collective(annotated("nccl:send 0->1", ""), kSendRecv).what, "send");
  EXPECT_EQ(only_collective(annotated("nccl:coalesced", ""), kSendRecv).what,
            "coalesced");
}

TEST(ImportedCollectives, TakeNameAndSizeFromRecordParamComms) {
  ProfilerFile older, newer;
  older.host("cpu_op", "record_param_comms", 15, 10,
             R"("Input Dims": [[384], []], "Input type": ["long", "Scalar"])");
  EXPECT_EQ(only_collective(older, kSendRecv).bytes, 384 * 8);
  newer.host(
      "cpu_op", "record_param_comms", 15, 10,
      R"("Collective name": "all_to_allv", "dtype": "Half", "In msg nelems": 5)");
  const auto time = only_collective(newer, kSendRecv);
  EXPECT_EQ(time.what, "all_to_all");
  EXPECT_EQ(time.bytes, 10);
}

TEST(ImportedCollectives, WithoutThemOnlyWhatTheKernelSays) {
  const auto time = only_collective(ProfilerFile(), kSendRecv);
  EXPECT_EQ(time.what, "send_recv") << "it may be a part of anything";
  EXPECT_EQ(time.bytes, kNone);
  ProfilerFile over;  // has ended before the launch
  over.host("user_annotation", "nccl:all_to_all", 5, 10,
            R"("Input Dims": [[8]], "Input type": ["int"])");
  EXPECT_EQ(only_collective(over, kSendRecv).what, "send_recv");
  EXPECT_EQ(only_collective(over, kSendRecv).bytes, kNone);
}

TEST(ImportedCollectives, AnUnknownSizeIsNotZero) {
  ProfilerFile file;
  file.step(1, 0, 100).kernel(kSendRecv, 20, 40, 10, 24);
  const Summary summary = summarize(file.imported());
  const std::string text = summary_text(summary);
  EXPECT_NE(text.find("unknown  10.0 µs"), std::string::npos) << text;
  EXPECT_TRUE(
      summary_json(summary)["train"]["steps"][0]["collectives"][0]["bytes"].is_null());
}

TEST(ImportedCollectives, ASharedAnnotationTellsNoSize) {
  ProfilerFile file =
      annotated("nccl:coalesced", R"("Input Dims": [[8]], "Input type": ["int"])");
  file.step(1, 0, 100).kernel(kSendRecv, 17, 40, 10).kernel(kSendRecv, 20, 60, 10);
  const Summary summary = summarize(file.imported());
  const auto& collectives = summary.train.steps.at(0).collectives;
  EXPECT_EQ(collectives.size(), 2u);
  for (const CollectiveTime& time : collectives) {
    EXPECT_EQ(time.bytes, kNone);
  }
}

TEST(ImportedCollectives, KernelsOverSymmetricMemoryCommunicate) {
  for (const char* name : {"void multimem_all_reduce_kernel<c10::BFloat16, 16>(...)",
                           "void two_shot_all_reduce_kernel<float, 8>(...)"}) {
    const auto time = only_collective(ProfilerFile(), name);
    EXPECT_EQ(time.what, "all_reduce") << name;
  }
}

}  // namespace
}  // namespace lockstep::tracer
