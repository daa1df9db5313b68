#include "tracer/emulate/scoreboard/machine_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <regex>

namespace lockstep::tracer {
namespace {

std::string lower_case(std::string text) {
  for (char& c : text) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

bool mentions(const std::string& text, std::string_view word) {
  return text.find(word) != std::string::npos;
}

/// A kind of device: its NVLinks, and its generation of PCIe.
struct DeviceKind {
  std::string_view word;
  int links;
  double gb_per_s;
  int pcie;
};

// The first word that a device's name contains decides.
constexpr std::array<DeviceKind, 14> kDeviceKinds{{{"p100", 4, 18, 3},
                                                   {"pascal", 4, 18, 3},
                                                   {"v100", 6, 20, 3},
                                                   {"a100", 12, 20, 4},
                                                   {"h100", 18, 20.6, 5},
                                                   {"h200", 18, 20.6, 5},
                                                   {"b200", 18, 40.1, 5},
                                                   {"ada", 2, 20, 4},
                                                   {"rtx 30", 2, 20, 4},
                                                   {"rtx 40", 2, 20, 4},
                                                   {"rtx 50", 2, 20, 5},
                                                   {"a10", 2, 20, 4},
                                                   {"a6000", 2, 20, 4},
                                                   {"", 2, 20, 3}}};

const DeviceKind& device_kind_of(const std::string& gpu) {
  return *std::find_if(
      kDeviceKinds.begin(), kDeviceKinds.end(),
      [&](const DeviceKind& kind) { return mentions(gpu, kind.word); });
}

double pcie_rate(int generation) { return 12.0 * (1 << (generation - 3)); }

int pcie_generation(const std::string& text, int otherwise) {
  static const std::regex generation(R"(pcie ?(?:gen)?([3-5])\b)");
  std::smatch found;
  return std::regex_search(text, found, generation) ? std::stoi(found[1]) : otherwise;
}

/// Networks are in Gb; GB is memory.
void read_network_words(const std::string& text, MachineLinks& links) {
  static const std::regex rate(R"((?:(\d+) ?x ?)?(\d+) ?Gb)");
  static const std::regex per_machine(R"((\d+) ?/ ?(?:node|server|machine|host))");
  std::smatch found;
  if (std::regex_search(text, found, rate)) {
    const double count = found[1].matched ? std::stod(found[1]) : 1;
    links.network_gb_per_s = count * std::stod(found[2]) * 0.12;
  }
  if (std::regex_search(text, found, per_machine)) {
    links.per_machine = std::max(1, std::stoi(found[1]));
  }
}

}  // namespace

int MachineLinks::machines(int devices) const {
  if (network_gb_per_s == 0) return 1;
  return (devices + per_machine - 1) / per_machine;
}

RingOfDevices MachineLinks::ring(int devices, double link_factor,
                                 double network_factor) const {
  const int machine = std::min(devices, machines(devices) > 1 ? per_machine : devices);
  double rate = gb_per_s * links;
  LinkClass link_class = within;
  if (mesh) rate *= std::min(1.0, (std::max(machine, 2) - 1) / 4.0);
  if (pairs && machine > 2) {
    rate = pcie_gb_per_s;
    link_class = LinkClass::pcie;
  }
  RingOfDevices ring{devices, machines(devices), rate * link_factor, link_class};
  if (ring.machines > 1) {
    ring.gb_per_s = std::min(ring.gb_per_s, network_gb_per_s * network_factor);
  }
  return ring;
}

MachineLinks machine_links(const std::string& gpu_name,
                           const std::string& interconnect) {
  const std::string gpu = lower_case(gpu_name), text = lower_case(interconnect);
  const DeviceKind& kind = device_kind_of(gpu);
  MachineLinks links;
  links.stated = !text.empty() && text != "unstated";
  links.pcie_gb_per_s = pcie_rate(pcie_generation(text, kind.pcie));
  links.gb_per_s = links.pcie_gb_per_s;
  read_network_words(interconnect + " " + gpu_name, links);
  if (mentions(text, "nvswitch") || mentions(text, "nvlink")) {
    links.within = LinkClass::nvlink;
    links.links = kind.links;
    links.gb_per_s = kind.gb_per_s;
    links.pairs = mentions(text, "pair") || mentions(text, "bridge");
    // Before NVSwitch, a device's links led to four others.
    links.mesh = !mentions(text, "nvswitch") && !links.pairs && kind.links <= 6;
  }
  return links;
}

std::string without_network(const std::string& interconnect) {
  static const std::regex network(R"( ?\+ ?(?:\d+ ?x ?)?\d+ ?Gb.*$)");
  return std::regex_replace(interconnect, network, "");
}

}  // namespace lockstep::tracer
