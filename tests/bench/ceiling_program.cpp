#include "ceiling_program.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace lockstep::bench {
namespace {
constexpr size_t kAlign = 4096;
size_t rounded(size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }
}  // namespace

void Program::Free::operator()(void* p) const { std::free(p); }

Program::Block Program::allocate(size_t bytes) {
  Block block(std::aligned_alloc(kAlign, rounded(std::max<size_t>(bytes, 1))));
  if (!block) throw std::runtime_error("no memory for " + std::to_string(bytes) + " B");
  return block;
}

Tensor Program::make(const Md& md) {
  buffers_.emplace_back();
  buffers_.back().bytes = rounded(md.get_size());
  return {int(buffers_.size()) - 1, md};
}

Tensor Program::keep(const Md& md) {
  Tensor t = make(md);
  buffers_[t.buffer].own = allocate(md.get_size());
  std::memset(buffers_[t.buffer].own.get(), 0, md.get_size());
  return t;
}

void Program::use(const Tensor& t) {
  Buffer& b = buffers_.at(t.buffer);
  if (b.first < 0) b.first = int(calls_.size());
  b.last = int(calls_.size());
}

void Program::add_call(dnnl::primitive primitive, const std::string& impl,
                       const Md& scratch, const Arguments& arguments) {
  for (const auto& [name, tensor] : arguments) use(tensor);
  calls_.push_back({std::move(primitive), {}, arguments, scratch, {}});
  scratch_bytes_ = std::max(scratch_bytes_, scratch.get_size());
  ++impls_[impl];
}

void Program::call(std::function<void()> loop, const std::vector<Tensor>& uses) {
  for (const Tensor& tensor : uses) use(tensor);
  calls_.push_back({{}, std::move(loop), {}, {}, {}});
}

Tensor Program::as(const Tensor& t, const Md& want) {
  if (t.md == want) return t;
  const Tensor out = make(want);
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::reorder::primitive_desc pd(engine_, t.md, engine_, want, attr);
  call<dnnl::reorder>(pd, {{DNNL_ARG_FROM, t}, {DNNL_ARG_TO, out}});
  return out;
}

// Places buffers by size, largest first, at the lowest offset free during their
// lifetime.
void Program::place() {
  std::vector<Buffer*> order;
  for (Buffer& b : buffers_)
    if (!b.own && b.first >= 0) order.push_back(&b);
  std::stable_sort(order.begin(), order.end(), [](const Buffer* a, const Buffer* b) {
    return a->bytes > b->bytes;
  });
  std::vector<Buffer*> placed;  // sorted by offset
  for (Buffer* b : order) {
    size_t offset = 0;
    for (const Buffer* other : placed) {
      if (other->last < b->first || b->last < other->first) continue;
      if (offset + b->bytes <= other->offset) break;
      offset = std::max(offset, other->offset + other->bytes);
    }
    b->offset = offset;
    arena_bytes_ = std::max(arena_bytes_, offset + b->bytes);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), b,
                         [](auto* x, auto* y) { return x->offset < y->offset; }),
        b);
  }
}

void Program::plan() {
  place();
  arena_ = allocate(arena_bytes_);
  // One scratch buffer for all calls; it must not overlap the planned buffers.
  scratch_ = allocate(scratch_bytes_);
  for (Call& c : calls_) {
    if (c.loop) continue;
    for (const auto& [name, tensor] : c.arguments)
      c.bound.emplace(name, dnnl::memory(tensor.md, engine_, raw(tensor)));
    if (c.scratch.get_size() > 0)
      c.bound.emplace(DNNL_ARG_SCRATCHPAD,
                      dnnl::memory(c.scratch, engine_, scratch_.get()));
  }
}

void Program::run(size_t from, size_t to) {
  for (size_t i = from; i < to; ++i) {
    Call& c = calls_[i];
    if (c.loop)
      c.loop();
    else
      c.primitive.execute(stream_, c.bound);
  }
  stream_.wait();
}

void* Program::raw(const Tensor& t) const {
  const Buffer& b = buffers_.at(t.buffer);
  if (b.own) return b.own.get();
  if (!arena_) throw std::logic_error("a planned tensor has no address before plan()");
  return static_cast<char*>(arena_.get()) + b.offset;
}

float* Program::data(const Tensor& t) const { return static_cast<float*>(raw(t)); }

}  // namespace lockstep::bench
