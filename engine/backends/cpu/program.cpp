#include "engine/backends/cpu/program.h"

#include <mutex>

namespace lockstep::cpu {

dnnl::engine& engine() {
  static auto* instance = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *instance;
}

namespace {

dnnl::stream& stream() {
  thread_local dnnl::stream instance(engine());
  return instance;
}

}  // namespace

void* address(const Ref& ref, const KernelArgs& args) {
  switch (ref.kind) {
    case Ref::Kind::input:
      return args.in[ref.index].data;
    case Ref::Kind::output:
      return args.out[ref.index].data;
    case Ref::Kind::scratch:
      return static_cast<char*>(args.workspace) + ref.index;
  }
  return nullptr;
}

/// Returns the number of channels per block in the layout that a convolution prefers.
int64_t channel_block() {
  static const int64_t block = [] {
    using namespace dnnl;
    const Md x = any({1, 64, 8, 8}), w = any({64, 64, 3, 3});
    convolution_forward::desc desc(prop_kind::forward_training,
                                   algorithm::convolution_direct, x, w, x, {1, 1},
                                   {1, 1}, {1, 1});
    const Md y = convolution_forward::primitive_desc(desc, engine()).dst_desc();
    const auto& blocking = y.data.format_desc.blocking;
    return blocking.inner_nblks == 1 ? static_cast<int64_t>(blocking.inner_blks[0]) : 1;
  }();
  return block;
}

std::string DnnlLayout::str() const {
  const auto& blocking = md.data.format_desc.blocking;
  return blocking.inner_nblks == 1
             ? "nChw" + std::to_string(blocking.inner_blks[0]) + "c"
             : "blocked";
}

LayoutPtr layout_of(const Md& md, const Shape& sizes) {
  if (md == plain(sizes)) return nullptr;
  static std::mutex mutex;
  static auto* known = new std::vector<std::shared_ptr<const DnnlLayout>>;
  std::lock_guard lock(mutex);
  for (const auto& layout : *known) {
    if (layout->md == md) return layout;
  }
  known->push_back(std::make_shared<DnnlLayout>(md));
  return known->back();
}

dnnl::memory::dims dims(const Shape& sizes) { return {sizes.begin(), sizes.end()}; }

Md plain(const Shape& sizes) {
  using tag = dnnl::memory::format_tag;
  static constexpr tag tags[] = {tag::a,   tag::a,    tag::ab,
                                 tag::abc, tag::abcd, tag::abcde};
  if (sizes.rank() == 0) return Md({1}, dnnl::memory::data_type::f32, tag::a);
  return Md(dims(sizes), dnnl::memory::data_type::f32, tags[sizes.rank()]);
}

Md any(const Shape& sizes) {
  return Md(dims(sizes), dnnl::memory::data_type::f32, dnnl::memory::format_tag::any);
}

namespace {

Md as_operand(const Md& md) {
  Md operand = md;
  if (backend_options().amp) operand.data.data_type = dnnl_bf16;
  return operand;
}

}  // namespace

Md any_operand(const Shape& sizes) { return as_operand(any(sizes)); }
Md plain_operand(const Shape& sizes) { return as_operand(plain(sizes)); }

Md preferred(const Shape& sizes) {
  using tag = dnnl::memory::format_tag;
  const int64_t block = channel_block();
  if (sizes.rank() != 4 || sizes[1] % block != 0) return plain(sizes);
  if (block == 16) return Md(dims(sizes), dnnl::memory::data_type::f32, tag::aBcd16b);
  if (block == 8) return Md(dims(sizes), dnnl::memory::data_type::f32, tag::aBcd8b);
  return plain(sizes);
}

Md described(const TensorSpec& spec) {
  if (!spec.layout) return plain(spec.sizes);
  return static_cast<const DnnlLayout&>(*spec.layout).md;
}

dnnl::primitive_attr attributes(bool relu) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (relu) {
    dnnl::post_ops ops;
    ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
    attr.set_post_ops(ops);
  }
  return attr;
}

Ref Program::scratch(size_t bytes) {
  const size_t offset = scratch_bytes_;
  scratch_bytes_ += (bytes + 63) / 64 * 64;
  return {Ref::Kind::scratch, offset};
}

Ref Program::as(Ref ref, const Md& have, const Md& wanted) {
  if (have == wanted) return ref;
  const Ref copy = scratch(wanted.get_size());
  const dnnl::reorder::primitive_desc pd(engine(), have, engine(), wanted,
                                         attributes());
  const std::string impl = impl_;
  run(pd, dnnl::reorder(pd), {{DNNL_ARG_FROM, ref, have}, {DNNL_ARG_TO, copy, wanted}});
  impl_ = impl;  // the plan is named after its main primitive
  return copy;
}

Ref Program::result(size_t i, const Md& made, const Md& wanted) {
  return made == wanted ? out(i) : scratch(made.get_size());
}

void Program::deliver(Ref made, const Md& made_md, size_t i, const Md& wanted) {
  if (made_md == wanted) return;
  const dnnl::reorder::primitive_desc pd(engine(), made_md, engine(), wanted,
                                         attributes());
  run(pd, dnnl::reorder(pd),
      {{DNNL_ARG_FROM, made, made_md}, {DNNL_ARG_TO, out(i), wanted}});
}

PlanPtr Program::finish(std::vector<LayoutPtr> layouts, std::vector<TensorSpec> extra) {
  auto plan = std::make_shared<Plan>();
  plan->layouts = std::move(layouts);
  plan->extra = std::move(extra);
  plan->workspace = scratch_bytes_;
  plan->impl = impl_.empty() ? "lockstep:omp" : impl_;
  plan->run = [steps = std::move(steps_)](const KernelArgs& args) {
    for (const Step& step : steps) {
      if (step.function) {
        step.function(args);
        continue;
      }
      std::unordered_map<int, dnnl::memory> memories;
      for (const Argument& a : step.arguments) {
        memories.emplace(a.name, dnnl::memory(a.md, engine(), address(a.ref, args)));
      }
      step.primitive.execute(stream(), memories);
    }
    stream().wait();
  };
  return plan;
}

}  // namespace lockstep::cpu
