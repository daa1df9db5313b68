// A training step as a flat list of calls over planned memory: no engine, no tape.
//
// Calls are added once, in the order in which they run. plan() then places every
// buffer: buffers with disjoint lifetimes share memory. Built and run on a single
// thread; a call may use OpenMP inside.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lockstep::bench {

using Md = dnnl::memory::desc;

struct Tensor {  // a typed view of one of the program's buffers
  int buffer = -1;
  Md md;
};

using Arguments = std::vector<std::pair<int, Tensor>>;  // DNNL_ARG_* to tensor

class Program {
 public:
  Program() : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {}

  const dnnl::engine& engine() const { return engine_; }

  Tensor make(const Md& md);  // allocated only while it is used
  Tensor keep(const Md& md);  // separate zeroed memory that persists between steps

  // Adds a primitive. `pd` is any dnnl primitive_desc with a user scratchpad.
  template <typename Primitive, typename Descriptor>
  void call(const Descriptor& pd, const Arguments& arguments) {
    add_call(Primitive(pd), pd.impl_info_str(), pd.scratchpad_desc(), arguments);
  }
  // Adds a loop of ours. `uses` lists the tensors it accesses, for the planner.
  void call(std::function<void()> loop, const std::vector<Tensor>& uses);

  // `t` in layout `want`: `t` itself or a reorder into a new buffer.
  Tensor as(const Tensor& t, const Md& want);

  size_t size() const { return calls_.size(); }  // calls so far
  void plan();                                   // once, after the last call
  void run(size_t from, size_t to);

  // Address of a tensor. Valid at any time if it is kept, otherwise only after plan().
  float* data(const Tensor& t) const;
  void* raw(const Tensor& t) const;

  const std::map<std::string, int>& impls() const { return impls_; }
  double planned_mib() const { return double(arena_bytes_) / (1 << 20); }
  double scratch_mib() const { return double(scratch_bytes_) / (1 << 20); }

 private:
  struct Free {
    void operator()(void* p) const;
  };
  using Block = std::unique_ptr<void, Free>;
  struct Buffer {
    size_t bytes = 0;
    int first = -1, last = -1;  // the first and last call that use it
    size_t offset = 0;          // in the arena
    Block own;                  // set for a kept buffer
  };
  struct Call {
    dnnl::primitive primitive;  // empty: a loop
    std::function<void()> loop;
    Arguments arguments;
    Md scratch;
    std::unordered_map<int, dnnl::memory> bound;
  };

  static Block allocate(size_t bytes);
  void add_call(dnnl::primitive primitive, const std::string& impl, const Md& scratch,
                const Arguments& arguments);
  void use(const Tensor& t);
  void place();

  dnnl::engine engine_;
  dnnl::stream stream_;
  std::vector<Buffer> buffers_;
  std::vector<Call> calls_;
  std::map<std::string, int> impls_;  // how often each kernel was selected
  Block arena_, scratch_;
  size_t arena_bytes_ = 0, scratch_bytes_ = 0;
};

}  // namespace lockstep::bench
