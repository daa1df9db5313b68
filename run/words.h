// Names of enum values: on the command line, in checkpoints, between ranks, in traces.
#pragma once

#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "run/config.h"

namespace lockstep::run {

template <typename Enum>
using Words = std::vector<std::pair<std::string_view, Enum>>;

/// All values of an enum with their words, in the order used by `--help`.
template <typename Enum>
const Words<Enum>& words();
template <>
const Words<DataKind>& words<DataKind>();
template <>
const Words<OnBadImage>& words<OnBadImage>();
template <>
const Words<InputOn>& words<InputOn>();
template <>
const Words<DistBackend>& words<DistBackend>();
template <>
const Words<DdpSync>& words<DdpSync>();
template <>
const Words<train::Mode>& words<train::Mode>();
template <>
const Words<sharing::Consistency>& words<sharing::Consistency>();
template <>
const Words<PipelineKind>& words<PipelineKind>();
template <>
const Words<DeviceType>& words<DeviceType>();
template <>
const Words<DType>& words<DType>();
template <>
const Words<ConvAlgorithm>& words<ConvAlgorithm>();
template <>
const Words<models::Stem>& words<models::Stem>();
template <>
const Words<optim::Schedule::Kind>& words<optim::Schedule::Kind>();
template <>
const Words<OptimizerKind>& words<OptimizerKind>();
template <>
const Words<plan::BucketRule>& words<plan::BucketRule>();
template <>
const Words<sharing::UpdateBy>& words<sharing::UpdateBy>();
template <>
const Words<sharing::LockFor>& words<sharing::LockFor>();
template <>
const Words<Partition>& words<Partition>();

/// Returns the word for a value. Throws std::out_of_range if it has none.
template <typename Enum>
std::string_view word(Enum value) {
  for (const auto& [text, of] : words<Enum>()) {
    if (of == value) return text;
  }
  throw std::out_of_range("an enum value without a word");
}

/// Returns the value for a word, or nullopt if there is none.
template <typename Enum>
std::optional<Enum> value_of(std::string_view text) {
  for (const auto& [word, value] : words<Enum>()) {
    if (word == text) return value;
  }
  return std::nullopt;
}

}  // namespace lockstep::run
