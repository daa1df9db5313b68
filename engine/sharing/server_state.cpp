#include "engine/sharing/server_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "engine/ops/copy.h"

namespace lockstep::sharing {

distributed::CollectiveLabel message(const char* why, const char* tensor,
                                     int64_t number) {
  distributed::CollectiveLabel label{why, tensor};
  label.seq = number;
  return label;
}

void require_enough_keys(int64_t keys, size_t servers) {
  if (keys >= static_cast<int64_t>(servers)) return;
  throw std::runtime_error(fmt::format(
      "{} servers have only {} keys to share; fix: reduce --servers", servers, keys));
}

bool is_count_of_updates(const std::string& name) { return name.starts_with("step."); }

Tensor flat_on_host(const Tensor& x) {
  const Tensor host =
      x.device().is_host() ? x : ops::copy_to(x.detach(), kHost, {"d2h", "optimizer"});
  return host.reshaped({host.numel()});
}

void add_state(std::map<std::string, Tensor>& whole, const Parameters& parameters,
               const std::vector<plan::Piece>& pieces, const std::string& name,
               const Tensor& value) {
  if (is_count_of_updates(name)) {
    whole[name] = value;
    return;
  }
  const std::string of = name.substr(name.find('.') + 1);
  const auto piece = std::ranges::find_if(
      pieces, [&](const plan::Piece& p) { return of == parameters[p.tensor].name; });
  if (piece == pieces.end()) {
    throw std::runtime_error("a server has no " + of + ", but a state of it");
  }
  const Tensor& parameter = parameters[piece->tensor].value;
  Tensor& all = whole[name];
  if (!all.defined()) {
    all = Tensor::empty({parameter.sizes(), parameter.dtype(), nullptr}, kHost);
  }
  const Tensor part = flat_on_host(value);
  const Tensor into = all.reshaped({all.numel()}).narrowed(piece->begin, piece->length);
  std::copy_n(static_cast<const char*>(part.view().data), part.nbytes(),
              static_cast<char*>(into.view().data));
}

StateHeader::StateHeader(const Parameters& state) {
  for (const auto& [name, value] : state) {
    if (is_count_of_updates(name)) {
      parts_.push_back({name, 0, *flat_on_host(value).data<int64_t>()});
    } else {
      parts_.push_back({name, value.numel(), 0});
    }
  }
}

StateHeader::StateHeader(const std::string& text) {
  for (const auto& part : nlohmann::json::parse(text)) {
    parts_.push_back({part.at(0), part.at(1), part.at(2)});
  }
}

std::string StateHeader::text() const {
  auto list = nlohmann::json::array();
  for (const Part& part : parts_) list.push_back({part.name, part.numel, part.count});
  return list.dump();
}

int64_t StateHeader::numel() const {
  int64_t all = 0;
  for (const Part& part : parts_) all += part.numel;
  return all;
}

Tensor StateHeader::join(const Parameters& state) {
  Tensors parts;
  int64_t numel = 0;
  for (const auto& [name, value] : state) {
    if (is_count_of_updates(name)) continue;
    parts.push_back(flat_on_host(value));
    numel += value.numel();
  }
  const Tensor joined = Tensor::empty({numel}, kHost, parts.at(0).dtype());
  int64_t at = 0;
  for (const Tensor& part : parts) {
    std::copy_n(static_cast<const char*>(part.view().data), part.nbytes(),
                static_cast<char*>(joined.narrowed(at, part.numel()).view().data));
    at += part.numel();
  }
  return joined;
}

void StateHeader::unpack(const Tensor& flat, const Parameters& parameters,
                         const plan::KeyRange& range,
                         std::map<std::string, Tensor>& whole) const {
  std::vector<int64_t> numels;
  for (const auto& [name, parameter] : parameters) numels.push_back(parameter.numel());
  const auto pieces = plan::pieces_of(range, numels);
  int64_t at = 0;
  for (const Part& part : parts_) {
    if (part.numel == 0) {
      const Tensor count = Tensor::empty(TensorSpec{{}, DType::i64, nullptr}, kHost);
      *count.data<int64_t>() = part.count;
      add_state(whole, parameters, pieces, part.name, count);
      continue;
    }
    add_state(whole, parameters, pieces, part.name, flat.narrowed(at, part.numel));
    at += part.numel;
  }
}

}  // namespace lockstep::sharing
