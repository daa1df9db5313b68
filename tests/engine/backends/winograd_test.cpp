// Our Winograd kernels against the definition of a convolution in double.
// sanitize: address
#include "engine/backends/cpu/winograd.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <vector>

namespace lockstep::cpu {
namespace {

struct Size {
  int64_t n, c, k, h, w;
};

/// 64-byte aligned, like the engine's memory.
std::unique_ptr<float[], void (*)(float*)> scratch_of(const Winograd& conv) {
  constexpr std::align_val_t kLine{64};
  auto* memory = static_cast<float*>(::operator new[](conv.workspace(), kLine));
  return {memory, [](float* p) { ::operator delete[](p, std::align_val_t{64}); }};
}

/// The index of an element in nChw8c.
int64_t place(const Size& s, int64_t channels, int64_t n, int64_t c, int64_t y,
              int64_t x) {
  return (((n * (channels / 8) + c / 8) * s.h + y) * s.w + x) * 8 + c % 8;
}

struct Problem {
  Size size;
  std::vector<float> x, w, bias, dy;

  explicit Problem(const Size& s) : size(s) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    const auto draw = [&](int64_t count) {
      std::vector<float> values(count);
      for (float& value : values) value = normal(random);
      return values;
    };
    x = draw(s.n * s.c * s.h * s.w);
    w = draw(s.k * s.c * 9);
    bias = draw(s.k);
    dy = draw(s.n * s.k * s.h * s.w);
  }
  /// Calls visit(image, k, c, tap, index in y, index in x) for every multiplication.
  template <typename Visit>
  void visit(Visit visit) const {
    const Size& s = size;
    for (int64_t n = 0; n < s.n; ++n) {
      for (int64_t k = 0; k < s.k; ++k) {
        for (int64_t i = 0; i < s.h * s.w * 9; ++i) {
          const int64_t y = i / 9 / s.w, x_ = i / 9 % s.w, tap = i % 9;
          const int64_t v = y + tap / 3 - 1, u = x_ + tap % 3 - 1;
          if (v < 0 || v >= s.h || u < 0 || u >= s.w) continue;
          for (int64_t c = 0; c < s.c; ++c) {
            visit((k * s.c + c) * 9 + tap, place(s, s.k, n, k, y, x_),
                  place(s, s.c, n, c, v, u));
          }
        }
      }
    }
  }
};

struct Results {
  std::vector<float> y, dx, dw, db;
  bool operator==(const Results& other) const {
    const auto same = [](const std::vector<float>& a, const std::vector<float>& b) {
      return a.size() == b.size() &&
             std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
    };
    return same(y, other.y) && same(dx, other.dx) && same(dw, other.dw) &&
           same(db, other.db);
  }
};

Results run(const Problem& p, bool relu = false) {
  const Size& s = p.size;
  const Winograd conv(s.n, s.c, s.k, s.h, s.w);
  const auto scratch = scratch_of(conv);
  Results r{std::vector<float>(p.dy.size()), std::vector<float>(p.x.size()),
            std::vector<float>(p.w.size()), std::vector<float>(p.bias.size())};
  conv.forward(p.x.data(), p.w.data(), r.y.data(), {p.bias.data(), relu},
               scratch.get());
  conv.backward_data(p.dy.data(), p.w.data(), r.dx.data(), scratch.get());
  conv.backward_weight(p.x.data(), p.dy.data(), r.dw.data(), r.db.data(),
                       scratch.get());
  return r;
}

double distance(const std::vector<float>& mine, const std::vector<double>& truth) {
  double off = 0, all = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    off += (mine[i] - truth[i]) * (mine[i] - truth[i]);
    all += truth[i] * truth[i];
  }
  return std::sqrt(off / all);
}

class OwnWinograd : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_winograd()) GTEST_SKIP() << "this processor has no AVX2";
  }
  void TearDown() override { omp_set_num_threads(1); }
};

TEST_F(OwnWinograd, EqualsTheDefinition) {
  // Whole tiles, partial tiles, images narrower than a tile's input, several blocks.
  for (const Size& s :
       {Size{2, 16, 16, 8, 8}, Size{3, 32, 16, 5, 7}, Size{1, 16, 48, 4, 13},
        Size{2, 16, 32, 4, 4}, Size{5, 16, 16, 14, 14}, Size{1, 64, 64, 9, 6}}) {
    SCOPED_TRACE(testing::Message()
                 << s.n << "x" << s.c << "->" << s.k << " of " << s.h << "x" << s.w);
    const Problem p(s);
    std::vector<double> y(p.dy.size()), dx(p.x.size()), dw(p.w.size()), db(s.k);
    for (int64_t n = 0; n < s.n; ++n) {
      for (int64_t k = 0; k < s.k; ++k) {
        for (int64_t i = 0; i < s.h * s.w; ++i) {
          const int64_t at = place(s, s.k, n, k, i / s.w, i % s.w);
          y[at] = p.bias[k];
          db[k] += p.dy[at];
        }
      }
    }
    p.visit([&](int64_t w, int64_t out, int64_t in) {
      y[out] += static_cast<double>(p.w[w]) * p.x[in];
      dx[in] += static_cast<double>(p.w[w]) * p.dy[out];
      dw[w] += static_cast<double>(p.x[in]) * p.dy[out];
    });
    const Results r = run(p);
    EXPECT_LE(distance(r.y, y), 2e-6);
    EXPECT_LE(distance(r.dx, dx), 2e-6);
    EXPECT_LE(distance(r.dw, dw), 2e-6);
    EXPECT_LE(distance(r.db, db), 1e-6);
    const Results cut = run(p, /*relu=*/true);
    for (size_t i = 0; i < y.size(); ++i) {
      ASSERT_EQ(cut.y[i], std::max(r.y[i], 0.0f)) << i;
    }
  }
}

TEST_F(OwnWinograd, ThreadsChangeNoBit) {
  const Problem p(Size{6, 32, 32, 16, 16});
  omp_set_num_threads(1);
  const Results alone = run(p);
  for (const int threads : {2, 3, 7}) {
    omp_set_num_threads(threads);
    EXPECT_TRUE(run(p) == alone) << threads << " threads";
  }
}

TEST_F(OwnWinograd, AnImagesResultsDoNotDependOnTheBatch) {
  Problem all(Size{5, 16, 16, 12, 8});
  Problem one = all;
  one.size.n = 1;
  const size_t x = all.x.size() / 5, y = all.dy.size() / 5;
  const Results together = run(all);
  for (size_t i = 0; i < 5; ++i) {
    one.x.assign(all.x.begin() + i * x, all.x.begin() + (i + 1) * x);
    one.dy.assign(all.dy.begin() + i * y, all.dy.begin() + (i + 1) * y);
    const Results alone = run(one);
    EXPECT_EQ(std::memcmp(alone.y.data(), together.y.data() + i * y, y * 4), 0);
    EXPECT_EQ(std::memcmp(alone.dx.data(), together.dx.data() + i * x, x * 4), 0);
  }
}

}  // namespace
}  // namespace lockstep::cpu
