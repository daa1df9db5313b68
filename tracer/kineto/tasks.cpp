#include "tracer/kineto/tasks.h"

#include <fmt/format.h>

#include <algorithm>

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

void name_collective(const Event& from, Event& collective) {
  const Args& given = from.args;
  const CollectiveNames* names =
      collective_of_arg(string_arg(given, "Collective name"));
  if (!names) names = collective_of_kernel(from.name);
  collective.args[keys::impl] = from.name;
  if (names) collective.name = names->ours;
  collective.args[keys::collective] = collective.name;
  collective.args[keys::imported] = true;  // its messages are unknown
  const bool tree = from.name.find("TREE") != from.name.npos;
  collective.args[keys::algorithm] = tree ? "nccl tree" : "nccl";
  collective.args[keys::why] = collective.name;
  collective.args[keys::group] = string_arg(given, "Process Group Name");
  const TypeNames* type = type_of_arg(string_arg(given, "dtype"));
  const int64_t count = int_arg(given, "In msg nelems", -1);
  if (type && count >= 0 && count < (int64_t{1} << 56)) {
    collective.args[keys::bytes] = count * type->bytes;
    collective.args[keys::dtype] = type->ours;
  }
  for (const auto& [ours, theirs] :
       {std::pair("group_size", "Group size"), std::pair("seq", "Seq")}) {
    if (int_arg(given, theirs, -1) >= 0) collective.args[ours] = int_arg(given, theirs);
  }
}

}  // namespace lockstep::tracer
