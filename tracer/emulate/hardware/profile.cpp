#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <stdexcept>

#include "tracer/emulate/hardware/hardware.h"

namespace lockstep::tracer {
namespace {

/// Reads a profile, and names the file and the entry in every error.
class ProfileReader {
 public:
  explicit ProfileReader(const std::string& file) : file_(file) {}

  Hardware read(std::string_view text) {
    const Json json = Json::parse(text, nullptr, false);
    if (!json.is_object()) fail("it is not a JSON object");
    require_known(json, "the profile",
                  {"name", "description", "source", "links", "machine", "network",
                   "host", "interference", "contention", "memory", "device_times",
                   "device", "collectives"});
    Hardware result;
    result.name = word(json, "name", "the profile");
    result.description = word(json, "description", "the profile");
    result.source = word(json, "source", "the profile");
    read_links(json, result);
    read_machine(json, result);
    read_network(json, result);
    read_host(json, result);
    read_interference(json, result);
    read_contention(json, result);
    read_memory(json, result);
    read_device_times(json, result);
    if (json.contains("collectives")) {
      const std::string library = word(json, "collectives", "the profile");
      if (library != "nccl" && library != "ring") {
        fail(fmt::format("collectives are '{}'; fix: write `nccl` or `ring`", library));
      }
      result.nccl = library == "nccl";
    }
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw std::runtime_error(fmt::format("hardware profile {}: {}", file_, why));
  }

  /// A key that is not read would be taken for one that counts.
  void require_known(const Json& json, const std::string& where,
                     std::initializer_list<std::string_view> keys) const {
    for (const auto& [key, value] : json.items()) {
      if (std::ranges::find(keys, key) != keys.end()) continue;
      fail(fmt::format("{} has an unknown key `{}`; fix: one of {}", where, key,
                       fmt::join(keys, ", ")));
    }
  }

  std::string word(const Json& json, const char* key, const std::string& where) const {
    const auto found = json.find(key);
    if (found != json.end() && found->is_string() && !found->get<std::string>().empty())
      return found->get<std::string>();
    fail(fmt::format("{} has no text `{}`; fix: add it", where, key));
  }

  double number(const Json& json, const char* key, const std::string& where,
                bool may_be_zero) const {
    const auto found = json.find(key);
    const double value = found != json.end() && found->is_number()
                             ? found->get<double>()
                             : std::numeric_limits<double>::quiet_NaN();
    if (value >= 0 && value < 1e9 && (value > 0 || may_be_zero)) return value;
    fail(fmt::format("{} has no number `{}` {} 0; fix: add it", where, key,
                     may_be_zero ? "of at least" : "above"));
  }

  bool flag(const Json& json, const char* key, bool otherwise) const {
    const auto found = json.find(key);
    if (found == json.end()) return otherwise;
    if (!found->is_boolean()) fail(fmt::format("`{}` is not true or false", key));
    return found->get<bool>();
  }

  const Json& part(const Json& json, const char* key) const {
    const auto found = json.find(key);
    if (found == json.end()) fail(fmt::format("it has no `{}`; fix: add it", key));
    return *found;
  }

  LinkClass link_class(const std::string& text, const std::string& where) const {
    if (text == "pcie") return LinkClass::pcie;
    if (text == "nvlink") return LinkClass::nvlink;
    if (text == "network") return LinkClass::network;
    fail(fmt::format("{} is of class '{}'; fix: write `pcie`, `nvlink` or `network`",
                     where, text));
  }

  void read_links(const Json& json, Hardware& result) const {
    for (const auto& [name, link] : part(json, "links").items()) {
      const std::string where = fmt::format("link `{}`", name);
      if (!link.is_object()) fail(where + " is not an object");
      require_known(
          link, where,
          {"class", "gb_per_s", "latency_us", "peer_to_peer", "half_duplex", "source"});
      LinkKind kind;
      kind.name = name;
      kind.source = word(link, "source", where);
      kind.link_class = link_class(word(link, "class", where), where);
      kind.gb_per_s = number(link, "gb_per_s", where, false);
      kind.latency_us = number(link, "latency_us", where, true);
      kind.peer_to_peer = flag(link, "peer_to_peer", true);
      kind.half_duplex = flag(link, "half_duplex", false);
      result.kinds.push_back(std::move(kind));
    }
  }

  size_t kind_of(const Json& wire, const Hardware& hardware) const {
    const std::string name = word(wire, "link", "a wire");
    for (size_t i = 0; i < hardware.kinds.size(); ++i) {
      if (hardware.kinds[i].name == name) return i;
    }
    fail(fmt::format("a wire has the link `{}`, which is not among `links`", name));
  }

  /// `gpu*` means all devices.
  std::vector<std::string> ends(const Json& wire, const char* key,
                                const Hardware& hardware) const {
    const Json& names = part(wire, key);
    if (!names.is_array()) fail(fmt::format("`{}` of a wire is not a list", key));
    std::vector<std::string> result;
    for (const Json& name : names) {
      if (!name.is_string()) fail(fmt::format("`{}` of a wire has no name", key));
      const auto text = name.get<std::string>();
      for (int i = 0; text == "gpu*" && i < hardware.devices; ++i) {
        result.push_back(fmt::format("gpu{}", i));
      }
      if (text != "gpu*") result.push_back(text);
    }
    return result;
  }

  void read_machine(const Json& json, Hardware& result) const {
    const Json& machine = part(json, "machine");
    if (!machine.is_object()) fail("`machine` is not an object");
    require_known(machine, "`machine`", {"devices", "wires"});
    const double devices = number(machine, "devices", "`machine`", false);
    if (devices != std::floor(devices) || devices > 1024) {
      fail("`devices` is not a whole number from 1 to 1024");
    }
    result.devices = static_cast<int>(devices);
    for (const Json& wire : part(machine, "wires")) {
      if (!wire.is_object()) fail("a wire is not an object");
      require_known(wire, "a wire", {"from", "to", "link"});
      const size_t kind = kind_of(wire, result);
      for (const std::string& from : ends(wire, "from", result)) {
        for (const std::string& to : ends(wire, "to", result)) {
          result.wires.push_back({from, to, kind});
        }
      }
    }
  }

  void read_network(const Json& json, Hardware& result) const {
    const auto found = json.find("network");
    if (found == json.end()) return;
    if (!found->is_object()) fail("`network` is not an object");
    require_known(*found, "`network`", {"from", "link"});
    result.network = {word(*found, "from", "`network`"), "network",
                      kind_of(*found, result)};
  }

  void read_host(const Json& json, Hardware& result) const {
    const auto found = json.find("host");
    if (found == json.end()) return;
    if (!found->is_object()) fail("`host` is not an object");
    require_known(*found, "`host`",
                  {"replica_us_per_parameter", "replicate_us_per_parameter",
                   "interpreter_lock", "launch_us", "module_us", "source"});
    result.host.replica_us_per_parameter =
        number(*found, "replica_us_per_parameter", "`host`", true);
    if (found->contains("replicate_us_per_parameter")) {
      result.host.replicate_us_per_parameter =
          number(*found, "replicate_us_per_parameter", "`host`", true);
    }
    if (const auto lock = found->find("interpreter_lock"); lock != found->end()) {
      if (!lock->is_boolean()) fail("`interpreter_lock` is not true or false");
      result.host.interpreter_lock = lock->get<bool>();
    }
    result.host.source = word(*found, "source", "`host`");
  }

  void read_memory(const Json& json, Hardware& result) const {
    const auto found = json.find("memory");
    if (found == json.end()) return;
    if (!found->is_object()) fail("`memory` is not an object");
    require_known(*found, "`memory`", {"gb_per_s", "source"});
    const Json& rates = part(*found, "gb_per_s");
    if (!rates.is_object()) fail("`gb_per_s` of `memory` is not an object");
    for (const auto& [kernel, rate] : rates.items()) {
      result.memory.gb_per_s[kernel] = number(rates, kernel.c_str(), "`memory`", false);
    }
    result.memory.source = word(*found, "source", "`memory`");
  }

  void read_interference(const Json& json, Hardware& result) const {
    const auto found = json.find("interference");
    if (found == json.end()) return;
    if (!found->is_object()) fail("`interference` is not an object");
    require_known(*found, "`interference`", {"slowdown", "source"});
    result.interference = slowdown(*found, "slowdown", "`interference`");
    result.interference_source = word(*found, "source", "`interference`");
  }

  double slowdown(const Json& json, const char* key, const std::string& where) const {
    const double factor = number(json, key, where, false);
    if (factor >= 1 && factor <= 100) return factor;
    fail(fmt::format("{}: `{}` is not from 1 to 100", where, key));
  }

  void read_contention(const Json& json, Hardware& result) const {
    const auto found = json.find("contention");
    if (found == json.end()) return;
    const std::string where = "`contention`";
    if (!found->is_object()) fail(where + " is not an object");
    require_known(*found, where, {"slowdown", "by_operation", "source"});
    if (!result.network.from.empty()) {
      fail(where + " is of one machine; fix: remove it, or `network`");
    }
    Contention contention{
        slowdown(*found, "slowdown", where), {}, word(*found, "source", where)};
    const Json& operations = part(*found, "by_operation");
    if (!operations.is_object()) fail("`by_operation` is not an object");
    for (const auto& [operation, factor] : operations.items()) {
      contention.by_operation[operation] =
          slowdown(operations, operation.c_str(), "`by_operation`");
    }
    result.contention = std::move(contention);
  }

  /// Positive numbers, in ascending order if `ascends`.
  template <typename T>
  std::vector<T> numbers(const Json& json, const char* key, const std::string& where,
                         bool ascends) const {
    std::vector<T> result;
    const auto found = json.find(key);
    if (found != json.end() && found->is_array()) {
      for (const Json& one : *found) {
        const T value = one.is_number() ? one.get<T>() : T();
        if (!(value > 0) || (ascends && !result.empty() && value <= result.back())) {
          fail(
              fmt::format("`{}` of {} has an entry that is not {}", key, where,
                          ascends ? "larger than the one before" : "a number above 0"));
        }
        result.push_back(value);
      }
    }
    if (result.empty())
      fail(fmt::format("{} has no list `{}`; fix: add it", where, key));
    return result;
  }

  void read_device_times(const Json& json, Hardware& result) const {
    const auto found = json.find("device_times");
    if (found == json.end()) return;
    const std::string all = "`device_times`";
    if (!found->is_object()) fail(all + " is not an object");
    require_known(*found, all,
                  {"name", "source", "tflops", "memory_gb_per_s", "tables"});
    MeasuredDevice times{word(*found, "name", all),
                         word(*found, "source", all),
                         number(*found, "tflops", all, false),
                         number(*found, "memory_gb_per_s", all, false),
                         {}};
    for (const Json& json_table : part(*found, "tables")) {
      if (!json_table.is_object()) fail("a table of `device_times` is not an object");
      PhaseTable table{word(json_table, "arch", "a table of " + all), 0, {}, {}, {}};
      const std::string where = fmt::format("the table of {}", table.arch);
      require_known(json_table, where,
                    {"arch", "image_size", "batches", "forward_ms", "backward_ms"});
      table.image_size =
          static_cast<int64_t>(number(json_table, "image_size", where, false));
      table.batches = numbers<int64_t>(json_table, "batches", where, true);
      table.forward_ms = numbers<double>(json_table, "forward_ms", where, false);
      table.backward_ms = numbers<double>(json_table, "backward_ms", where, false);
      if (table.forward_ms.size() != table.batches.size() ||
          table.backward_ms.size() != table.batches.size()) {
        fail(where + " has not one time for each of its batches");
      }
      times.tables.push_back(std::move(table));
    }
    result.device_times = std::move(times);
  }

  const std::string& file_;
};

}  // namespace

Hardware parse_hardware(std::string_view text, const std::string& file) {
  return ProfileReader(file).read(text);
}

}  // namespace lockstep::tracer
