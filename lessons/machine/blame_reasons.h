// Lesson 29's misconceptions: why another rank, or another word, is not the answer.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "lessons/machine/blame_words.h"
#include "lessons/machine/exam.h"

namespace lockstep::lessons::lesson_29 {

constexpr const char *kVictims = "Those who report are those who wait",
                     *kDead = "Dead, failed, silent, slow", *kSilent = "Heartbeats",
                     *kBehind = "Behind, or only waiting",
                     *kStore = "Rank 0 is different";

inline Because earlier_is_old() {
  return {
      "`earlier` is for a store that is lost. This one answers, and knows more now "
      "than it did then",
      kStore};
}

inline Because without_store(const Evidence& evidence, const Blame& got) {
  if (got.what == What::nobody && evidence.patience == Milliseconds::max()) {
    return {
        "a lost store needs no patience: the answer is the same whether or not a call "
        "has failed",
        kStore};
  }
  if (!evidence.earlier) {
    if (got.what == What::nobody) {
      return {
          "the store is in rank 0's process: if it does not answer, rank 0 hangs or "
          "has died, and nobody else can say so",
          kStore};
    }
    if (got.rank == 0) {
      return {
          "whether rank 0 has died or hangs, nobody can tell: all that is known is "
          "that its store does not answer, which `lost_store` says",
          kStore};
    }
    return {
        "without an answer `ranks` is old news: what is certain is that rank 0, "
        "which hosts the store, does not answer",
        kStore};
  }
  if (got.what == What::lost_store && got.rank != 0) {
    return {
        "`earlier` is the answer as it is, with its word: only rank 0 hosts a store",
        kStore};
  }
  if (got.what == What::lost_store && evidence.earlier->rank == 0) {
    return {
        "this rank has named rank 0 before, and said more of it than that its store "
        "is gone: its answer stays the same",
        kStore};
  }
  if (got.what == What::lost_store) {
    return {
        "rank 0 ended because of the failure that this rank has named before, and "
        "the store with it: rank 0 is the second victim, not the cause",
        kStore};
  }
  return {
      "this rank has named somebody before, and the store can tell it nothing new: "
      "its answer stays the same",
      kStore};
}

inline Because not_that_silent(const Evidence& evidence, const RankNews& news) {
  if (evidence.patience == Milliseconds::max()) {
    return {
        "no silence is as long as `Milliseconds::max()`. No sum, product or `int` "
        "holds it either: compare it as it is",
        kSilent};
  }
  return {fmt::format("rank {} has been silent for {} ms, and patience is {} ms: {}",
                      news.rank, news.silence.count(), evidence.patience.count(),
                      news.has_beaten ? "a late heartbeat is no proof"
                                      : "it may be about to join"),
          kSilent};
}

inline Because instead_of_nobody(const Evidence& evidence, const Blame& got) {
  const RankNews* named = news_of(evidence, got.rank);
  const bool silent = got.what == What::hangs || got.what == What::never_joined;
  if (silent) return not_that_silent(evidence, *named);
  const auto seqs = std::ranges::minmax(evidence.ranks, {}, &RankNews::seq);
  if (seqs.min.seq == seqs.max.seq) {
    return {fmt::format("all ranks are in {}: each waits, none is behind",
                        place(seqs.min.seq)),
            kBehind};
  }
  if (named->seq == seqs.max.seq) {
    return {fmt::format("rank {} is as far as any other: it waits", got.rank),
            kVictims};
  }
  return {fmt::format("nothing has timed out: rank {} may call the collective the next "
                      "moment, and somebody is always the last",
                      got.rank),
          kBehind};
}

/// `got` is another rank that has ended like the expected one.
inline Because another_that_ended(const Evidence& evidence, const Blame& expected,
                                  const Blame& got) {
  const char* have = expected.what == What::died ? "died" : "failed";
  if (news_of(evidence, got.rank)->seq < news_of(evidence, expected.rank)->seq) {
    return {
        fmt::format("of several ranks that {} the lowest is named, not the one that "
                    "came least far: that does not tell who was first",
                    have),
        kDead};
  }
  return {
      fmt::format("of several ranks that {} the lowest is named: the survivors must "
                  "give one answer, not several",
                  have),
      kDead};
}

/// `got` is a rank that failed, and another one died.
inline Because failed_for_died(const Blame& expected, const Blame& got) {
  if (got.rank < expected.rank) {
    return {fmt::format("rank {} is lower, but rank {} has died: ask all ranks whether "
                        "they died before you ask one whether it failed",
                        got.rank, expected.rank),
            kDead};
  }
  return {
      "a rank that reports an error has often failed because another one died: its "
      "connection broke. The dead one reports nothing",
      kVictims};
}

inline Because nobody_for_ended(const Evidence& evidence, const Blame& expected) {
  if (evidence.patience == Milliseconds::max()) {
    return {
        "a rank that has ended needs no patience: this one learns of it before a call "
        "of its own has failed",
        kDead};
  }
  if (evidence.ranks.size() == 1) {
    return {
        "one rank is enough: that it has ended is certain without a second one to "
        "compare it with",
        kDead};
  }
  if (expected == Blame{What::died, 0}) {
    return {
        "rank 0 can be at fault like any other: this store answers without it, so it "
        "is not in its process",
        kStore};
  }
  if (expected.what == What::died) {
    return {
        "a rank has died: that needs neither patience nor a timeout, since the "
        "system has closed its connection",
        kDead};
  }
  return {
      "a rank has reported an error and stops: why wait for a timeout? Its "
      "heartbeats may go on for a while",
      kDead};
}

inline Because instead_of_ended(const Evidence& evidence, const Blame& expected,
                                const Blame& got) {
  const bool died = expected.what == What::died;
  if (got.what == What::nobody) return nobody_for_ended(evidence, expected);
  if (got.rank == expected.rank) {
    return {
        died ? "its process has ended, and that is certain: this is `died`, whatever "
               "else is true of it"
             : "it has said what happened: this is `failed`, and only with that word "
               "its message is shown",
        kDead};
  }
  if (got.what == expected.what) return another_that_ended(evidence, expected, got);
  if (got.what == What::failed) return failed_for_died(expected, got);
  if (got.what == What::behind) {
    return {
        fmt::format("rank {} is alive, and the others cannot go on without rank {}, "
                    "which has {}",
                    got.rank, expected.rank, died ? "died" : "failed"),
        kDead};
  }
  return {fmt::format("a silent rank may go on, and rank {} has {}: the certain comes "
                      "before the probable",
                      expected.rank, died ? "died" : "failed"),
          kDead};
}

inline Because instead_of_silent(const Evidence& evidence, const Blame& expected,
                                 const Blame& got) {
  const RankNews &silent = *news_of(evidence, expected.rank),
                 *named = news_of(evidence, got.rank);
  if (got.rank == expected.rank) {
    const bool hangs = expected.what == What::hangs;
    if (got.what == What::behind) {
      return {
          "it is behind because it is silent: nobody can tell that it is alive, "
          "which `behind` says",
          kSilent};
    }
    if (got.what == What::died || got.what == What::failed) {
      return {
          "it has said nothing, and nobody has seen its process end: it may be "
          "stopped, or its network cut",
          kSilent};
    }
    return {hangs ? "it has sent heartbeats before: it joined, and then fell silent"
                  : "it has never sent a heartbeat: was it started at all? That is "
                    "another remedy than for one that hangs",
            kSilent};
  }
  if (got.what == What::nobody && silent.silence == evidence.patience) {
    return {"a silence as long as `patience` is too long already", kSilent};
  }
  if (got.what == What::nobody && evidence.timed_out) {
    return {fmt::format("rank {} has been silent for {} ms, longer than `patience`: "
                        "that is enough, whatever is known of the others",
                        silent.rank, silent.silence.count()),
            kSilent};
  }
  if (got.what == What::nobody) {
    return {fmt::format("rank {} has been silent for {} ms, longer than `patience`. "
                        "That needs no timeout: `patience` is longer without one",
                        silent.rank, silent.silence.count()),
            kSilent};
  }
  if (named && got.what == What::behind) {
    return {fmt::format("rank {} is alive, and may be behind because it waits for rank "
                        "{}, which is silent",
                        got.rank, silent.rank),
            kDead};
  }
  if (named && named->silence < evidence.patience) {
    return not_that_silent(evidence, *named);
  }
  if (named && named->silence == silent.silence) {
    return {"of ranks that are equally silent the lowest is named", kSilent};
  }
  return {fmt::format("rank {} has been silent for longer: {}", silent.rank,
                      silent.has_beaten ? "it fell silent first"
                                        : "one that never joined counts like one that "
                                          "has fallen silent"),
          kSilent};
}

/// The ranks in `most` wait for `last`.
inline Because nobody_for_behind(const Evidence& evidence, const RankNews& last,
                                 int64_t most) {
  if (last.seq < 0) {
    return {fmt::format("rank {} has begun no collective yet: that is furthest behind, "
                        "not unknown",
                        last.rank),
            kBehind};
  }
  const auto together = std::ranges::count(evidence.ranks, last.seq, &RankNews::seq);
  if (2 * together > std::ssize(evidence.ranks)) {
    return {fmt::format("most ranks are in {}, and are behind all the same: another "
                        "one waits for them in {}",
                        last.seq, most),
            kBehind};
  }
  if (last.silence > Milliseconds(0)) {
    return {fmt::format("rank {} has been silent for {} ms only, less than `patience`: "
                        "it is alive, and the others wait for it",
                        last.rank, last.silence.count()),
            kBehind};
  }
  const bool one = most - last.seq == 1;
  return {fmt::format("rank {} is {} behind, and something has timed out: the others "
                      "wait for it",
                      last.rank, one ? "only one collective" : "some collectives"),
          kBehind};
}

inline Because instead_of_behind(const Evidence& evidence, const Blame& expected,
                                 const Blame& got) {
  const RankNews &last = *news_of(evidence, expected.rank),
                 *named = news_of(evidence, got.rank);
  const int64_t most = std::ranges::max(evidence.ranks, {}, &RankNews::seq).seq;
  if (most > std::numeric_limits<int>::max() && got.rank != expected.rank) {
    return {fmt::format("`seq` is an int64_t: {} does not fit into an `int`, and "
                        "exceeds a start value such as 1000000",
                        most),
            kBehind};
  }
  if (got.what == What::nobody) return nobody_for_behind(evidence, last, most);
  if (got.rank == expected.rank && !last.has_beaten) {
    return {
        "it has not been silent for as long as `patience`: it may be about to join, "
        "and "
        "until then it is behind",
        kBehind};
  }
  if (got.rank == expected.rank) {
    return {"its heartbeats come: it is alive, but not where the others wait", kBehind};
  }
  const bool silent = got.what == What::hangs || got.what == What::never_joined;
  if (silent && named->silence < evidence.patience) {
    return not_that_silent(evidence, *named);
  }
  if (named->seq == last.seq) {
    return {"of ranks that are equally far behind the lowest is named", kBehind};
  }
  if (named->seq == most) {
    return {fmt::format("rank {} is in the latest collective, {}: it waits there for "
                        "the others",
                        got.rank, named->seq),
            kVictims};
  }
  return {fmt::format("rank {} in collective {} waits for rank {}, which is in {}: the "
                      "last one is waited for, and waits for nobody",
                      got.rank, named->seq, last.rank, place(last.seq)),
          kBehind};
}

/// Explains an answer that is not the expected one.
inline Because why_not(const Evidence& evidence, const Blame& expected,
                       const Blame& got) {
  if ((got.rank < 0) != (got.what == What::nobody)) {
    return {"nobody is `Blame()`, without a rank; anything else needs one", kDead};
  }
  if (!evidence.store_answers) return without_store(evidence, got);
  if (got.what == What::lost_store) {
    return {
        "the store answers, so it is not lost: what is known of rank 0 is in `ranks`, "
        "as of any other rank",
        kStore};
  }
  if (evidence.earlier == got && evidence.earlier != expected) return earlier_is_old();
  const RankNews* named = news_of(evidence, got.rank);
  if (got.rank >= 0 && !named) {
    return {
        fmt::format("the store has reported nothing of rank {}: not every rank is in "
                    "`ranks`, so an index is not a rank",
                    got.rank),
        kVictims};
  }
  const bool ended = got.what == What::died || got.what == What::failed;
  const End end = got.what == What::died ? End::died : End::failed;
  if (ended && named->end != end && got.rank != expected.rank) {
    return {fmt::format("rank {} has not {}, as far as anybody knows", got.rank,
                        end == End::died ? "died" : "reported an error"),
            kDead};
  }
  switch (expected.what) {
    case What::nobody:
      return instead_of_nobody(evidence, got);
    case What::died:
    case What::failed:
      return instead_of_ended(evidence, expected, got);
    case What::behind:
      return instead_of_behind(evidence, expected, got);
    default:
      return instead_of_silent(evidence, expected, got);
  }
}

}  // namespace lockstep::lessons::lesson_29
