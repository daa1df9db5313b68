#include "tracer/kineto/tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tracer/format/args.h"
#include "tracer/kineto/names.h"

namespace lockstep::tracer {

namespace {

const TypeNames* type_of(const Event& task) {
  return type_of_ours(string_arg(task.args, keys::dtype));
}

std::string name_of_collective(const Event& task) {
  const CollectiveNames* names = collective_of_ours(task.name);
  const TypeNames* type = type_of(task);
  const bool sums = task.name.find("reduce") != task.name.npos;
  std::string name = names ? std::string(names->kernel) : task.name.str();
  name = fmt::format("ncclKernel_{}_RING{}", name, sums ? "_Sum" : "");
  return type ? fmt::format("{}_{}", name, type->kernel) : name;
}

std::string name_of_copy(const Event& task) {
  if (port_arg(task.args, keys::src) == kHost)
    return "Memcpy HtoD (Pageable -> Device)";
  if (port_arg(task.args, keys::dst) == kHost)
    return "Memcpy DtoH (Device -> Pageable)";
  return "Memcpy PtoP (Device -> Device)";
}

struct Payload {
  int64_t bytes = -1;  ///< -1 if unknown
  const TypeNames* type = nullptr;
};

constexpr int64_t kMostElements = int64_t{1} << 56;

Payload payload(int64_t elements, const TypeNames* type) {
  if (type == nullptr || elements < 0 || elements >= kMostElements) return {};
  return {elements * type->bytes, type};
}

/// Returns the size given as `In msg nelems` and `dtype`.
Payload given_payload(const Args& args) {
  return payload(int_arg(args, "In msg nelems", -1),
                 type_of_arg(string_arg(args, "dtype")));
}

/// Returns the number of elements of a shape such as [65536, 384]; -1 if it is invalid
/// or has no dimensions.
int64_t elements_of(const Json& shape) {
  if (!shape.is_array() || shape.empty()) return -1;
  int64_t elements = 1;
  for (const Json& size : shape) {
    if (!size.is_number_integer()) return -1;
    const auto factor = size.get<int64_t>();
    if (factor < 0 || __builtin_mul_overflow(elements, factor, &elements)) return -1;
  }
  return elements;
}

/// Returns the size of an operator's input tensors, as PyTorch before 2.2 records it:
/// all of an annotation's, or the first argument of `record_param_comms`, whose others
/// are not data.
Payload input_payload(const Event& op, bool only_first) {
  const Value dims = op.args.find("Input Dims"), types = op.args.find("Input type");
  if (!dims.is_array() || !types.is_array()) return {};
  const Json shapes = dims.json(), names = types.json();
  const size_t count = std::min<size_t>(only_first ? 1 : shapes.size(), names.size());
  int64_t elements = 0;
  const TypeNames* type = nullptr;
  for (size_t i = 0; i < count; ++i) {
    if (!names[i].is_string()) return {};
    const TypeNames* own = type_of_input(names[i].get<std::string>());
    const int64_t more = elements_of(shapes[i]);
    if (own == nullptr || more < 0 || more >= kMostElements) return {};
    if (std::exchange(type, own) != own && i > 0) return {};
    elements = std::min(elements + more, kMostElements);
  }
  return payload(elements, type);
}

Payload payload_of(const Event& kernel, const CollectiveLaunch& launch) {
  Payload found = given_payload(kernel.args);
  if (found.type || !launch.sole) return found;
  if (launch.comms) found = given_payload(launch.comms->args);
  if (!found.type && launch.annotation)
    found = input_payload(*launch.annotation, false);
  if (!found.type && launch.comms) found = input_payload(*launch.comms, true);
  return found;
}

std::string collective_name(const Event& kernel, const CollectiveLaunch& launch) {
  const auto named = [](const Event* event) {
    return event ? collective_of_arg(string_arg(event->args, "Collective name"))
                 : nullptr;
  };
  if (const CollectiveNames* names = named(&kernel)) return std::string(names->ours);
  if (const CollectiveNames* names = named(launch.comms)) {
    return std::string(names->ours);
  }
  if (launch.annotation) {
    const auto name = collective_of_annotation(launch.annotation->name.view());
    if (!name.empty()) return std::string(name);
  }
  const CollectiveNames* names = collective_of_kernel(kernel.name.view());
  return names ? std::string(names->ours) : kernel.name.str();
}

}  // namespace

std::string kineto_name(const Event& task) {
  if (task.is(categories::collective)) return name_of_collective(task);
  if (task.is(categories::copy)) return name_of_copy(task);
  const std::string impl = string_arg(task.args, keys::impl);
  return impl.empty() ? task.name.str() : fmt::format("{} [{}]", task.name, impl);
}

Json kernel_placeholders() {
  Json args = {{"queued", 0}};
  for (const char* key : {"registers per thread", "shared memory", "blocks per SM",
                          "warps per SM", "est. achieved occupancy %"}) {
    args[key] = 0;
  }
  args["grid"] = args["block"] = {1, 1, 1};
  return args;
}

Json copy_args(const Event& copy) {
  const int64_t src = port_arg(copy.args, keys::src),
                dst = port_arg(copy.args, keys::dst);
  const int64_t bytes = int_arg(copy.args, keys::bytes);
  Json args = {{"bytes", bytes},
               {"memory bandwidth (GB/s)",
                static_cast<double>(bytes) /
                    static_cast<double>(std::max<int64_t>(copy.dur, 1))}};
  if (src >= 0 && dst >= 0) {
    args["fromDevice"] = src;
    args["inDevice"] = args["toDevice"] = dst;
  }
  return args;
}

Json collective_args(const Event& collective, int64_t rank, int64_t ranks) {
  const CollectiveNames* names = collective_of_ours(collective.name);
  const TypeNames* type = type_of(collective);
  const int64_t count =
      int_arg(collective.args, keys::bytes) / (type ? type->bytes : 1);
  Json members = Json::array();
  for (int64_t i = 0; i < std::min<int64_t>(ranks, 1024); ++i) members.push_back(i);
  return {{"Collective name", names ? std::string(names->arg) : collective.name.str()},
          {"In msg nelems", count},
          {"Out msg nelems", count},
          {"Group size", int_arg(collective.args, keys::group_size, ranks)},
          {"dtype", type ? std::string(type->arg) : "Byte"},
          {"In split size", "[]"},
          {"Out split size", "[]"},
          {"Process Group Name", "0"},
          {"Process Group Description", "default_pg"},
          {"Process Group Ranks", members.dump()},
          {"Seq", int_arg(collective.args, keys::seq)},
          {"Rank", rank}};
}

void name_collective(const Event& from, const CollectiveLaunch& launch,
                     Event& collective) {
  collective.args[keys::impl] = from.name;
  collective.name = collective_name(from, launch);
  collective.args[keys::collective] = collective.name;
  collective.args[keys::imported] = true;  // its messages are unknown
  const bool tree = from.name.find("TREE") != from.name.npos;
  collective.args[keys::algorithm] = !is_nccl_kernel(from.name.view()) ? "one kernel"
                                     : tree                            ? "nccl tree"
                                                                       : "nccl";
  collective.args[keys::why] = collective.name;
  std::string group = string_arg(from.args, "Process Group Name");
  if (launch.comms && group.empty()) {
    group = string_arg(launch.comms->args, "Process Group Name");
  }
  collective.args[keys::group] = group;
  const Payload payload = payload_of(from, launch);
  if (payload.bytes >= 0) {
    collective.args[keys::bytes] = payload.bytes;
    collective.args[keys::dtype] = payload.type->ours;
  }
  for (const auto& [ours, theirs] :
       {std::pair("group_size", "Group size"), std::pair("seq", "Seq")}) {
    int64_t known = int_arg(from.args, theirs, -1);
    if (known < 0 && launch.comms) known = int_arg(launch.comms->args, theirs, -1);
    if (known >= 0) collective.args[ours] = known;
  }
}

}  // namespace lockstep::tracer
