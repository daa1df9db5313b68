// The sentence about an event, and the properties that every sentence must have. Shared
// by the tests of the narration.
#pragma once

#include <gtest/gtest.h>

#include <regex>
#include <span>

#include "gui/model/narration.h"
#include "gui/text/language.h"
#include "tests/gui/model/made_trace.h"
#include "tests/gui/model/named_model.h"

namespace lockstep::gui::test {

inline std::string said(const Model& model, std::string_view path,
                        const Language& language = english()) {
  const auto event = static_cast<uint32_t>(names_of(model)[path]);
  const State state = state_at(model, at_event(model, event));
  return narrate(model, state, break_down(model, state.step), language).text;
}

inline int emphases(std::string_view text) {
  int count = 0;
  for (size_t at = 0; (at = text.find("**", at)) != std::string_view::npos; at += 2) {
    ++count;
  }
  return count;
}

/// Checks the properties that every sentence must have.
inline void expect_readable(const Model& model) {
  static const std::regex wrong(
      R"([{}\n]|  | [.,:;]( |$)|\.\.|\*\*\*|-1|(^|[^0-9.])0 [kMGT]?(B|FLOP)\b)"
      R"(|\b1 (devices|copies|kernels|threads|images|ranks)|[^0-9]1 of 1\b)");
  std::vector<Breakdown> steps;
  for (size_t i = 0; i < model.steps.size(); ++i) steps.push_back(break_down(model, i));
  for (uint32_t event = 0; event < model.events.size(); ++event) {
    const State state = state_at(model, at_event(model, event));
    const std::string text = narrate(model, state, steps[state.step]).text;
    EXPECT_TRUE(text.ends_with('.')) << text;
    EXPECT_EQ(emphases(text) % 2, 0) << text;
    EXPECT_LE(text.size(), kLongestNarration + 40) << text;
    EXPECT_FALSE(std::regex_search(text, wrong)) << text;
    const std::string bare = std::regex_replace(text, std::regex("\\*"), "");
    EXPECT_EQ(plain(bare, 400), bare) << "not one line of UTF-8";
  }
}

using Expected = std::pair<const char*, const char*>;  ///< an event and its sentence

inline void expect_said(const Model& model, std::span<const Expected> expected) {
  expect_readable(model);
  for (const auto& [path, text] : expected) EXPECT_EQ(said(model, path), text) << path;
}

}  // namespace lockstep::gui::test
