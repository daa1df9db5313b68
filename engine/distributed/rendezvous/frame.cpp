#include "engine/distributed/rendezvous/frame.h"

#include <fmt/format.h>

#include <charconv>
#include <stdexcept>

namespace lockstep::distributed::store {
namespace {

constexpr std::string_view kMagic = "LKS3";

void put_u32(std::string& out, size_t number) {
  for (int shift = 0; shift < 32; shift += 8) {
    out.push_back(static_cast<char>(number >> shift & 0xff));
  }
}

uint32_t get_u32(std::string_view bytes, size_t at) {
  uint32_t number = 0;
  for (size_t i = 0; i < 4; ++i) {
    number |= uint32_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  }
  return number;
}

Parsed garbage(std::string reason) {
  return {Parsed::State::garbage, {}, 0, std::move(reason)};
}

}  // namespace

std::string encode(const Frame& frame) {
  size_t body = 0;
  for (const std::string& field : frame.fields) body += 4 + field.size();
  if (body > kMaxBody) {
    throw std::runtime_error(
        fmt::format("{} bytes are too many for a store: the keys and values of one "
                    "call are limited to {}",
                    body, kMaxBody));
  }
  std::string bytes(kMagic);
  bytes.reserve(kHeaderBytes + body);
  put_u32(bytes, static_cast<uint32_t>(frame.op));
  put_u32(bytes, body);
  for (const std::string& field : frame.fields) {
    put_u32(bytes, field.size());
    bytes += field;
  }
  return bytes;
}

Parsed parse_frame(std::string_view bytes) {
  if (bytes.substr(0, 4) != kMagic.substr(0, bytes.size())) {
    return garbage("no frame header");
  }
  if (bytes.size() < kHeaderBytes) return {};
  const uint32_t op = get_u32(bytes, 4), length = get_u32(bytes, 8);
  if (op > static_cast<uint32_t>(kLastOp)) {
    return garbage(fmt::format("unknown operation {}", op));
  }
  if (length > kMaxBody) {
    return garbage(
        fmt::format("a frame of {} bytes, above the limit of {}", length, kMaxBody));
  }
  if (bytes.size() < kHeaderBytes + length) return {};

  Parsed parsed{Parsed::State::whole, {static_cast<Op>(op), {}}, kHeaderBytes + length};
  std::string_view body = bytes.substr(kHeaderBytes, length);
  while (!body.empty()) {
    if (body.size() < 4 || body.size() - 4 < get_u32(body, 0)) {
      return garbage("a field is longer than its frame");
    }
    const size_t size = get_u32(body, 0);
    parsed.frame.fields.emplace_back(body.substr(4, size));
    body.remove_prefix(4 + size);
  }
  return parsed;
}

std::optional<int64_t> parse_number(std::string_view text) {
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return number;
}

std::string shown(std::string_view text) {
  constexpr size_t most = 80;
  std::string line(text.substr(0, most));
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < ' ' || c == 127) c = '?';
  }
  return text.size() > most ? line + "..." : line;
}

std::string quoted(const std::vector<std::string>& keys) {
  constexpr size_t most = 8;
  std::string list;
  for (size_t i = 0; i < keys.size() && i < most; ++i) {
    list += fmt::format("{}\"{}\"", i ? ", " : "", shown(keys[i]));
  }
  if (keys.size() > most) list += fmt::format(" and {} more", keys.size() - most);
  return list;
}

std::string seconds(Milliseconds time) {
  return fmt::format("{:g} s", static_cast<double>(time.count()) / 1000);
}

}  // namespace lockstep::distributed::store
