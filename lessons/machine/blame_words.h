// What a rank knows when it asks whom to blame, and the answer, in words (lesson 29).
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "engine/distributed/rendezvous/blame.h"

namespace lockstep::lessons::lesson_29 {

using distributed::Blame;
using distributed::Evidence;
using distributed::RankNews;
using End = RankNews::End;
using What = Blame::What;

inline std::string in_words(const Blame& blame) {
  static constexpr const char* kWhat[] = {
      "nobody", "died", "failed", "hangs", "never_joined", "behind", "lost_store"};
  if (blame == Blame()) return "nobody";
  return fmt::format("rank {}, {}", blame.rank, kWhat[static_cast<int>(blame.what)]);
}

inline std::string in_words(const RankNews& news) {
  std::string words = fmt::format("rank {}", news.rank);
  if (news.end == End::died) words += " died";
  if (news.end == End::failed) words += " failed";
  words += news.seq < 0 ? " in no collective" : fmt::format(" in {}", news.seq);
  const auto silence = news.silence.count();
  if (!news.has_beaten) return words + fmt::format(" (not joined for {} ms)", silence);
  return silence > 0 ? words + fmt::format(" (silent for {} ms)", silence) : words;
}

inline std::string in_words(const Evidence& evidence) {
  std::string words;
  for (const RankNews& news : evidence.ranks) words += in_words(news) + ", ";
  words += evidence.patience == Milliseconds::max()
               ? "patience Milliseconds::max()"
               : fmt::format("patience {} ms", evidence.patience.count());
  if (evidence.timed_out) words += ", timed out";
  if (!evidence.store_answers) words += ", no answer from the store";
  if (evidence.earlier) words += ", earlier: " + in_words(*evidence.earlier);
  return words;
}

inline std::string place(int64_t seq) {
  return seq < 0 ? "no collective yet" : fmt::format("collective {}", seq);
}

inline const RankNews* news_of(const Evidence& evidence, int rank) {
  const auto found = std::ranges::find(evidence.ranks, rank, &RankNews::rank);
  return found == evidence.ranks.end() ? nullptr : &*found;
}

}  // namespace lockstep::lessons::lesson_29
