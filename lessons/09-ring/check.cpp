#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "engine/distributed/collectives/ring.h"
#include "lessons/machine/exam.h"
#include "lessons/machine/predicates.h"
#include "tracer/format/keys.h"

namespace lockstep::lessons::lesson_09 {

using distributed::Buffer;
using distributed::RingLink;

/// Thrown in the other ranks' threads after one has failed.
struct Abandoned {};

/// A ring in memory that detects mismatched ranks at once, without timeouts. Each rank
/// is a thread.
class MemoryRing {
 public:
  using AllReduce = std::function<void(RingLink&, Buffer)>;
  static constexpr int64_t kBeyond = 4096;  ///< elements before and after each tensor
  MemoryRing(int size, int64_t numel) : ranks_(size), numel_(numel) {
    for (int r = 0; r < size; ++r) {
      ranks_[r].data.resize(kBeyond + numel + kBeyond);
      for (int64_t i = 0; i < numel; ++i) tensor(r)[i] = share(r, i);
    }
  }

  /// Returns the initial element i of rank r: 1, 10, 100, …, times i + 1. The digits of
  /// a sum then show whose shares it holds.
  static double share(int rank, int64_t i) {
    return static_cast<double>(i + 1) * std::pow(10, rank);
  }

  /// Runs the learner's all-reduce, or a part of it, on all ranks. Throws the first
  /// error.
  void run(const AllReduce& function = distributed::ring_all_reduce().in_use()) {
    std::vector<std::thread> threads;
    for (int r = 0; r < size(); ++r) {
      threads.emplace_back([&, r] { run_rank(r, function); });
    }
    for (std::thread& thread : threads) thread.join();
    if (failure_) std::rethrow_exception(failure_);
  }

  int size() const { return static_cast<int>(ranks_.size()); }
  /// Returns element i of a rank's tensor.
  double element(int rank, int64_t i) const { return ranks_[rank].data[kBeyond + i]; }
  /// Returns the lengths of this rank's messages, in order.
  const std::vector<int64_t>& sent(int rank) const { return ranks_[rank].sent; }

 private:
  struct Rank {
    std::vector<double> data;
    std::vector<int64_t> sent;
    std::optional<std::vector<double>> post;  ///< a message that has not been received
    bool done = false;                        ///< its function has returned
  };
  struct Link : RingLink {
    Link(MemoryRing& ring, int rank) : ring_(ring), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return ring_.size(); }
    void exchange(Buffer out, Buffer in, bool adds) override {
      ring_.exchange(rank_, out, in, adds);
    }
    MemoryRing& ring_;
    const int rank_;
  };

  double* tensor(int rank) { return ranks_[rank].data.data() + kBeyond; }

  void run_rank(int r, const AllReduce& function) {
    Link link(*this, r);
    std::exception_ptr failure;
    try {
      function(link, {tensor(r), numel_, DType::f64});
    } catch (const Abandoned&) {
    } catch (...) {
      failure = std::current_exception();
    }
    std::lock_guard lock(mutex_);
    ranks_[r].done = true;
    if (failure && !failure_) failure_ = failure;
    changed_.notify_all();
  }

  std::string about(int r) const {
    return fmt::format("{} ranks, {} elements: rank {} in exchange {}", size(), numel_,
                       r, ranks_[r].sent.size() - 1);
  }

  void exchange(int r, Buffer out, Buffer in, bool adds) {
    std::unique_lock lock(mutex_);
    Rank& me = ranks_[r];
    me.sent.push_back(out.numel);
    expect_inside(r, "sends", out);
    expect_inside(r, "receives", in);
    const auto* first = static_cast<const double*>(out.data);
    me.post.emplace(first, first + out.numel);
    changed_.notify_all();

    Rank& left = ranks_[(r + size() - 1) % size()];
    wait(lock, [&] { return left.post || left.done; });
    if (!left.post) {
      throw Wrong{
          about(r),
          "a message from the rank before it",
          fmt::format("rank {} sends nothing more: it stopped after {} exchanges",
                      (r + size() - 1) % size(), left.sent.size()),
          {"all ranks make the same number of exchanges, including those that have "
           "nothing to send: a rank that omits one makes its neighbour wait forever",
           "Every rank makes every step"}};
    }
    if (std::ssize(*left.post) != in.numel) {
      throw Wrong{about(r) + ": the message from the rank before it",
                  fmt::format("{} elements, as long as `in`", in.numel),
                  fmt::format("{} elements", left.post->size()),
                  {"you receive the chunk that the rank before you sends in the same "
                   "step: the one to the left of the chunk that you send. No step may "
                   "be skipped, not even with an empty chunk",
                   "Every rank makes every step"}};
    }
    auto* to = static_cast<double*>(in.data);
    for (double value : *left.post) {
      *to = adds ? *to + value : value;
      ++to;
    }
    left.post.reset();
    changed_.notify_all();
    wait(lock, [&] { return !me.post || ranks_[(r + 1) % size()].done; });
    me.post.reset();
  }

  /// A piece that begins in or near the tensor must lie in it.
  void expect_inside(int r, const char* does, Buffer piece) {
    const auto first = static_cast<const double*>(piece.data) - tensor(r);
    if (first < -kBeyond || first >= numel_ + kBeyond) return;  // the learner's memory
    if (first >= 0 && first + piece.numel <= numel_) return;
    if (first < 0) {
      throw Wrong{
          fmt::format("{}: the elements that it {}", about(r), does),
          fmt::format("from 0 to {}", numel_),
          fmt::format("{} to {}", first, first + piece.numel),
          {"the chunk begins before the tensor, because its number is negative: in C++ "
           "-1 % 4 is -1, not 3 as in Python. Add the world size before taking the "
           "remainder",
           "Chunks, and what is left"}};
    }
    throw Wrong{
        fmt::format("{}: the elements that it {}", about(r), does),
        fmt::format("up to {}, the end of the tensor", numel_),
        fmt::format("{} to {}", first, first + piece.numel),
        {"the chunk reaches past the end of the tensor: the last chunks must be "
         "shorter if the number of elements is not divisible by the world size",
         "Chunks, and what is left"}};
  }

  template <typename Ready>
  void wait(std::unique_lock<std::mutex>& lock, Ready ready) {
    changed_.wait(lock, [&] { return failure_ || ready(); });
    if (failure_) throw Abandoned{};
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Rank> ranks_;
  const int64_t numel_;
  std::exception_ptr failure_;
};

/// Returns how many times each rank's share appears in a sum; empty if it is not a sum
/// of shares.
std::vector<int> shares_in(double sum, int64_t i, int world) {
  const double units = sum / static_cast<double>(i + 1);
  std::vector<int> counts;
  for (int r = 0; r < world; ++r) {
    counts.push_back(static_cast<int>(std::fmod(units / std::pow(10, r), 10)));
  }
  const bool whole = units == std::floor(units) && units < std::pow(10, world);
  return whole ? counts : std::vector<int>{};
}

std::string in_words(const std::vector<int>& shares) {
  std::string words;
  for (size_t r = 0; r < shares.size(); ++r) {
    if (shares[r] == 1) continue;
    const std::string times =
        shares[r] == 0 ? "is missing" : fmt::format("appears {} times", shares[r]);
    words += fmt::format("{}rank {}'s share {}", words.empty() ? "" : ", ", r, times);
  }
  return words.empty() ? "it is in the wrong place" : words;
}

std::string likely(const std::vector<int>& shares) {
  for (int count : shares) {
    if (count < 2) continue;
    return "a share was added twice. In the second half the incoming chunk is already "
           "the sum: it replaces yours (adds = false). In the first half a chunk must "
           "not be sent twice: the next one to send is the one that has just arrived";
  }
  return "shares are missing. Either a chunk did not visit every rank in the first "
         "half (the next one to send is the one that has just arrived), or the "
         "finished chunk never arrived here in the second: each rank owns only one sum "
         "until all have been sent around once more";
}

/// Checks every element of every rank.
void expect_sums(const Exam& exam, int world, int64_t numel, const std::string& read,
                 const std::string& reason = "") {
  MemoryRing ring(world, numel);
  ring.run();
  for (int r = 0; r < world; ++r) {
    for (int64_t i = 0; i < numel; ++i) {
      double expected = 0;
      for (int other = 0; other < world; ++other) {
        expected += MemoryRing::share(other, i);
      }
      const double got = ring.element(r, i);
      const auto shares = shares_in(got, i, world);
      exam.that(
          got == expected,
          fmt::format("{} ranks, {} elements: rank {}, element {}", world, numel, r, i),
          fmt::format("{}", expected), fmt::format("{}: {}", got, in_words(shares)),
          {reason.empty() ? likely(shares) : reason, read});
    }
  }
}

LESSON_TEST(9, two_ranks, "two ranks hold the sum of 4 elements") {
  expect_sums(exam, 2, 4, "Two halves");
}

LESSON_TEST(9, more_ranks, "so do 1, 3, 4 and 5 ranks") {
  for (int world : {1, 3, 4, 5}) expect_sums(exam, world, 2 * world, "Two halves");
  MemoryRing ring(3, 6);
  ring.run([all = distributed::ring_all_reduce().in_use()](auto& link, Buffer data) {
    for (int call = 0; call < 2; ++call) all(link, data);
  });
  exam.equal("3 ranks, 6 elements, summed twice: rank 0, element 0", 333.0,
             ring.element(0, 0), {"each call starts again, from rank()", "Two halves"});
}

LESSON_TEST(9, remainder,
            "the number of elements need not be divisible by the world size") {
  for (int world : {2, 3, 4, 5}) {
    for (int64_t numel : {7, 9, 1003}) {
      expect_sums(
          exam, world, numel, "Chunks, and what is left",
          "it worked with equal chunks: look at where the last chunks begin and end. "
          "Each element belongs to exactly one chunk, and numel / world rounds down");
    }
  }
}

LESSON_TEST(9, empty_chunks, "there may be fewer elements than ranks") {
  for (int world : {2, 3, 4, 5}) {
    for (int64_t numel = 0; numel < world; ++numel) {
      expect_sums(exam, world, numel, "Every rank makes every step");
    }
  }
}

struct Traffic {
  int64_t bytes = 0, messages = 0, last = tracer::kNone;
};

LESSON_TEST(9, traffic, "each rank sends 2(N-1)/N of a bucket, in 2(N-1) messages") {
  const tracer::Trace& trace = exam.train(
      "-a resnet18 --dataset generated --device-type null --mode ddp --devices 4 -b 4 "
      "--steps 1 --bucket-rule 1.11 --timeout 5",
      {"four ranks train ResNet18 with your ring, on devices that hold no numbers: "
       "`data.data` is null there. The run's output is printed below",
       "What the trace shows"});
  std::map<std::pair<int64_t, int64_t>, Traffic> sent;  // by collective and rank
  for (const tracer::Event* copy : copies_because(trace, "all_reduce")) {
    Traffic& of = sent[{number(*copy, "seq"), number(*copy, "src")}];
    of.bytes += number(*copy, "bytes");
    of.messages += 1;
    of.last = copy->id;
  }
  for (const tracer::Event* bucket : events_of(trace, "collective", "all_reduce")) {
    if (text(*bucket, tracer::keys::why) != "all_reduce") continue;
    const int64_t rank = number(*bucket, "rank");
    const Traffic& of = sent[{number(*bucket, "seq"), rank}];
    const std::string who =
        fmt::format("ResNet18 on 4 ranks, {}: rank {}", text(*bucket, "tensor"), rank);
    const int64_t bytes = number(*bucket, "bytes");
    const bool chunks = of.bytes / std::max<int64_t>(of.messages, 1) < bytes / 3;
    exam.that(of.messages <= 6 || !chunks || of.bytes <= bytes * 3 / 2 + 8,
              who + ", messages", "6", fmt::format("{}", of.messages),
              {"a half takes N-1 = 3 steps, not N: each rank has one of the N chunks "
               "already, so only the others still have to arrive",
               "Every rank makes every step", of.last});
    exam.at_most(who + ", bytes sent", bytes * 3 / 2 + 8, of.bytes,
                 {"the whole tensor goes around: the sums are right, but every rank "
                  "sends the tensor N-1 times, so the cost grows with the number of "
                  "ranks. Send one of N chunks at a time",
                  "What the trace shows", of.last});
    exam.equal(who + ", messages", int64_t{6}, of.messages,
               {"there are two halves of N-1 = 3 steps. No barrier is needed between "
                "them: a rank can continue as soon as it has received",
                "Every rank makes every step", of.last});
  }
}

LESSON_TEST(9, fair_chunks, "messages differ by at most one element") {
  MemoryRing ring(4, 10);
  ring.run();
  for (int r = 0; r < 4; ++r) {
    for (int64_t length : ring.sent(r)) {
      exam.that(
          length == 2 || length == 3,
          fmt::format("10 elements, 4 ranks: length of a message of rank {}", r),
          "2 or 3", fmt::format("{}", length),
          {"DataParallel cuts 10 into 3, 3, 3 and 1, as torch.chunk does. In a ring "
           "all ranks move in step and wait for the longest message: split evenly",
           "Chunks, and what is left"});
    }
  }
  MemoryRing few(5, 3);
  few.run();
  for (int r = 0; r < 5; ++r) {
    for (int64_t length : few.sent(r)) {
      exam.at_most(
          fmt::format("3 elements, 5 ranks: length of a message of rank {}", r),
          int64_t{1}, length,
          {"sizes differ by at most one element, even if there are fewer elements than "
           "ranks: three chunks hold one element each, and two are empty",
           "Chunks, and what is left"});
    }
  }
}

/// One of 4 ranks. Moves no data; only counts the elements sent.
struct CountingLink : RingLink {
  explicit CountingLink(int rank) : rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return 4; }
  void exchange(Buffer out, Buffer, bool) override { sent += out.numel; }
  const int rank_;
  int64_t sent = 0;
};

LESSON_TEST(9, large_tensor, "no element of a large tensor is lost") {
  constexpr int64_t kElements = (int64_t{1} << 26) + 1;
  const MemoryRing::AllReduce half =
      exam.function<void(RingLink&, Buffer)>("lesson_reduce_scatter");
  int64_t sent = 0;
  for (int r = 0; r < 4; ++r) {
    CountingLink link(r);
    half(link, {nullptr, kElements, DType::f32});
    sent += link.sent;
  }
  exam.equal(fmt::format("{} elements, 4 ranks: elements sent in the first half by all "
                         "ranks, three times each",
                         kElements),
             3 * kElements, sent,
             {"a float has 24 bits, so it cannot hold the edges of chunks of a large "
              "tensor: multiply first, then divide, as integers",
              "Chunks, and what is left"});
}

LESSON_TEST(9, first_half, "after reduce_scatter, rank r has the sum of chunk r") {
  const MemoryRing::AllReduce half =
      exam.function<void(RingLink&, Buffer)>("lesson_reduce_scatter");
  for (int world : {2, 3, 4, 5}) {
    MemoryRing ring(world, 2 * world);
    ring.run(half);
    for (int r = 0; r < world; ++r) {
      for (int64_t i : {2 * r, 2 * r + 1}) {
        double expected = 0;
        for (int other = 0; other < world; ++other) {
          expected += MemoryRing::share(other, i);
        }
        const double got = ring.element(r, i);
        exam.that(got == expected,
                  fmt::format("{} ranks, reduce_scatter alone: element {}, in chunk {} "
                              "of rank {}",
                              world, i, r, r),
                  fmt::format("{}", expected),
                  fmt::format("{}: {}", got, in_words(shares_in(got, i, world))),
                  {"the two halves fit together, but the first must end with chunk "
                   "rank(): code that uses it alone (ZeRO, FSDP) relies on this. "
                   "The last chunk to arrive must be rank()'s own",
                   "Two halves"});
      }
    }
  }
}

}  // namespace lockstep::lessons::lesson_09
