// Several ranks in one trace: separate programs and their collectives. Uses
// ddp.json.gz: a toy net on 3 ranks, recorded by the engine.
#include <algorithm>
#include <map>
#include <set>

#include "base/units.h"
#include "engine/plan/ring.h"
#include "gui/model/details.h"
#include "gui/model/narration.h"
#include "gui/model/state.h"
#include "gui/model/transfers.h"
#include "tests/gui/model/valid.h"

namespace lockstep::gui {
namespace {

using namespace test;  // NOLINT

constexpr int kRanks = 3;

class Ranks : public ::testing::Test {
 protected:
  Model model_ = load_file(golden() / "viewer/ddp.json.gz");

  /// The collectives with this reason.
  std::vector<uint32_t> of(const std::string& why) const {
    std::vector<uint32_t> found;
    for (uint32_t i = 0; i < model_.collectives.size(); ++i) {
      const Event& event = model_.events[model_.collectives[i].events.front()];
      if (string_arg(args_of(model_, event), "why") == why) found.push_back(i);
    }
    return found;
  }
};

TEST(Narration, OfAllGradientsAtOnce) {  // and not of the first one alone
  const std::string lessons = std::string(LOCKSTEP_SOURCE_DIR) + "/lessons/";
  const Model model = load_file(lessons + "11-ddp-naive/trace.json.gz");
  std::string why;
  const auto at = parse_position(model, "2:all_reduce", why);
  ASSERT_TRUE(at.has_value()) << why;
  const State state = state_at(model, *at);
  int64_t bytes = 0;
  for (const Copy& copy : model.copies) {
    const Event& event = model.events[copy.event];
    const bool reduces = string_arg(args_of(model, event), "why") == "all_reduce";
    if (reduces && event.step == model.events[state.event].step) bytes += copy.bytes;
  }
  EXPECT_EQ(human_bytes(bytes), "89.4 MB");
  const std::string text = narrate(model, state, break_down(model, state.step)).text;
  EXPECT_NE(text.find("**89.4 MB** over all links"), std::string::npos) << text;
}

TEST_F(Ranks, HaveAProgramEach) {
  ASSERT_EQ(model_.ranks(), kRanks);
  ASSERT_EQ(model_.rank_places.size(), kRanks + 1u);
  EXPECT_EQ(model_.rank_places.front(), 0u);
  EXPECT_EQ(model_.rank_places.back(), model_.program.size());
  for (int rank = 0; rank < kRanks; ++rank) {
    for (uint32_t at = model_.rank_places[rank]; at < model_.rank_places[rank + 1];
         ++at) {
      ASSERT_EQ(model_.rank_of(model_.program[at]), rank) << at;
    }
  }
}

TEST_F(Ranks, MovesStayInOnesOwnProgram) {
  for (const Move move :
       {Move::into, Move::over, Move::movement, Move::phase, Move::step, Move::last}) {
    Position at = at_event(model_, model_.steps[0].event_of(1));
    for (int i = 0; i < 2000; ++i) at = moved(model_, at, move);
    EXPECT_EQ(rank_of(model_, at), 1);
    EXPECT_GE(at.place, model_.events[model_.steps.back().event_of(1)].order);
  }
  Position at = at_event(model_, model_.steps.back().event_of(1));
  for (int i = 0; i < 2000; ++i) at = moved(model_, at, Move::back);
  EXPECT_EQ(at.place, model_.rank_places[1]);
}

TEST_F(Ranks, InTimeOrderEachLooksAtItsOwnLanes) {
  for (int64_t time = 0; time < model_.length; time += model_.length / 300) {
    for (int rank = 0; rank < kRanks; ++rank) {
      const Position at{Order::time, time, 0, 0.5f, rank};
      ASSERT_EQ(model_.rank_of(event_at(model_, at)), rank) << time;
      ASSERT_EQ(in_program_order(model_, at).rank, rank);
      ASSERT_EQ(state_at(model_, at).rank, rank);
    }
  }
}

TEST_F(Ranks, TheSamePointOfAnotherRankLeadsBack) {
  size_t common = 0;
  for (uint32_t place = 0; place < model_.rank_places[1]; ++place) {
    const Position own = at_event(model_, model_.program[place]);
    const Position other = at_rank(model_, own, 2);
    ASSERT_EQ(rank_of(model_, other), 2);
    const Event& a = model_.events[event_at(model_, own)];
    const Event& b = model_.events[event_at(model_, other)];
    if (a.name != b.name) continue;  // rank 2 does not have this event
    ++common;
    ASSERT_EQ(at_rank(model_, other, 0), own) << place;
    ASSERT_EQ(a.step, b.step);
  }
  EXPECT_GT(common, model_.rank_places[1] * 8 / 10);
}

TEST_F(Ranks, PlacesNameTheirRank) {
  std::string why;
  const auto place = parse_position(model_, "rank1:2:backward", why);
  ASSERT_TRUE(place) << why;
  EXPECT_EQ(model_.name_of(model_.events[event_at(model_, *place)]), "backward");
  EXPECT_EQ(rank_of(model_, *place), 1);
  EXPECT_EQ(parse_position(model_, "rank2:@1ms", why)->rank, 2);
  EXPECT_FALSE(parse_position(model_, "rank3:2", why));
  EXPECT_EQ(why, "'rank3:2' does not name a rank from rank0: to rank2:");
}

TEST_F(Ranks, ARankAndADeviceCanBeChosen) {
  std::string why;
  const Position place = *parse_position(model_, "2:backward", why);
  const auto other = at_choice(model_, place, {2, -1}, why);
  ASSERT_TRUE(other) << why;
  EXPECT_EQ(rank_of(model_, *other), 2);
  EXPECT_EQ(model_.name_of(model_.events[event_at(model_, *other)]), "backward");
  EXPECT_EQ(at_choice(model_, place, {}, why), place);
  const int64_t id = model_.devices[1].id;
  for (const Order order : {Order::program, Order::time}) {
    const Position from = order == Order::time ? in_time_order(model_, place) : place;
    const auto on = at_choice(model_, from, {-1, id}, why);
    ASSERT_TRUE(on) << why;
    EXPECT_EQ(on->order, order);
    EXPECT_EQ(rank_of(model_, *on), 1) << "the device's own rank";
    EXPECT_GE(time_of(model_, *on), time_of(model_, from));
    if (order == Order::time) continue;
    const Event& event = model_.events[event_at(model_, *on)];
    ASSERT_EQ(model_.lanes[event.lane].device, 1);
    for (const Event& earlier : model_.events) {
      const bool between = earlier.ts >= time_of(model_, from) && earlier.ts < event.ts;
      ASSERT_FALSE(between && model_.lanes[earlier.lane].device == 1);
    }
  }
  EXPECT_FALSE(at_choice(model_, place, {3, -1}, why));
  EXPECT_EQ(why, "no rank 3; fix: name one of 0 to 2");
  EXPECT_FALSE(at_choice(model_, place, {-1, 77}, why));
  EXPECT_EQ(why, "no device 77; fix: name one of 0, 1, 2");
}

TEST_F(Ranks, MeetInCollectives) {
  ASSERT_EQ(of("all_reduce").size(), 2u) << "one bucket in each of 2 steps";
  for (const uint32_t index : of("all_reduce")) {
    const Collective& reduce = model_.collectives[index];
    EXPECT_EQ(reduce.events.size(), size_t{kRanks});
    EXPECT_EQ(reduce.copies.size(), size_t{kRanks * 2 * (kRanks - 1)});
    for (const uint32_t message : reduce.copies) {
      const Event& event = model_.events[model_.copies[message].event];
      EXPECT_EQ(model_.collective_of(event.parent), index) << "in its rank's part";
      EXPECT_EQ(model_.events[event.parent].lane, event.lane);
    }
  }
  for (const Copy& copy : model_.copies) {
    const bool between = copy.src != kHostDevice && copy.dst != kHostDevice;
    EXPECT_EQ(copy.collective != kNoEvent, between);
  }
}

/// The engine sends the chunk of that number: see the glossary's "chunk".
TEST_F(Ranks, ChunksHaveTheNumbersOfTheEnginesPlan) {
  for (const char* why : {"all_reduce", "metrics"}) {
    for (const uint32_t index : of(why)) {
      for (const uint32_t message : model_.collectives[index].copies) {
        const Copy& copy = model_.copies[message];
        const auto plan =
            plan::ring_all_reduce(model_.devices[copy.src].rank, kRanks)[copy.round];
        const RingMessage m = ring_message(model_, copy);
        EXPECT_EQ(m.chunk, plan.send_chunk) << copy.src << " in round " << copy.round;
        EXPECT_EQ(m.adds, plan.reduces);
      }
    }
  }
  Underway now;
  now.collective = of("all_reduce")[0];
  now.round = 0;
  EXPECT_EQ(round_in_words(model_, now),
            "round 1 of 4: +k adds chunk k (0 to 2) to the next rank's");
  now.round = 2;
  EXPECT_EQ(round_in_words(model_, now),
            "round 3 of 4: =k replaces chunk k (0 to 2) with its sum");
}

/// Replays the messages. Chunk numbers, + and = are correct if all ranks get all sums.
TEST_F(Ranks, MessagesPlayedBackSumEverything) {
  for (const char* why : {"all_reduce", "metrics"}) {
    for (const uint32_t index : of(why)) {
      using Shares = std::set<int>;
      std::map<int, std::map<int, Shares>> at;  // rank, chunk: shares in it
      for (int rank = 0; rank < kRanks; ++rank) {
        for (int chunk = 0; chunk < kRanks; ++chunk) at[rank][chunk] = {rank};
      }
      std::map<int, int64_t> bytes;
      auto before = at;
      int round = 0;
      for (const uint32_t message : model_.collectives[index].copies) {
        const Copy& copy = model_.copies[message];
        if (copy.round != round) before = at;  // a round is sent at once
        round = copy.round;
        const RingMessage m = ring_message(model_, copy);
        EXPECT_EQ(m.ranks, kRanks);
        EXPECT_EQ(m.rounds, 2 * (kRanks - 1));
        const Shares& sent = before[copy.src][m.chunk];
        Shares& held = at[copy.dst][m.chunk];
        if (!m.adds) held.clear();
        held.insert(sent.begin(), sent.end());
        const auto [known, fresh] = bytes.emplace(m.chunk, copy.bytes);
        EXPECT_EQ(known->second, copy.bytes) << "a chunk keeps its size";
      }
      for (auto& [rank, chunks] : at) {
        for (auto& [chunk, shares] : chunks) EXPECT_EQ(shares, (Shares{0, 1, 2}));
      }
    }
  }
}

TEST_F(Ranks, AWholeRoundIsInFlightAtOnce) {
  const Collective& reduce = model_.collectives[of("all_reduce")[0]];
  for (const uint32_t part : reduce.events) {
    for (int round = 0; round < 2 * (kRanks - 1); ++round) {
      Position at = at_event(model_, part);
      // When paused, round 1 is at half progress: see paused_in_a_round in
      // transfers.cpp.
      const float share = (static_cast<float>(round) + 0.25f) / 4;
      at.progress = share < 0.375f ? share / 0.75f : 0.5f + (share - 0.375f) / 1.25f;
      const State state = state_at(model_, at);
      ASSERT_EQ(state.packets.size(), size_t{kRanks});
      for (const Packet& packet : state.packets) {
        EXPECT_EQ(model_.copies[packet.copy].round, round);
        EXPECT_NEAR(packet.progress, 0.25f, 1e-4f);
      }
      EXPECT_EQ(state.underway.round, round);
      EXPECT_EQ(state.underway.arrived, static_cast<size_t>(round * kRanks));
      EXPECT_TRUE(state.underway.to_come);
    }
  }
  const Position message = at_event(model_, model_.copies[reduce.copies[4]].event);
  EXPECT_EQ(state_at(model_, message).packets.size(), size_t{kRanks});
}

TEST_F(Ranks, ACollectiveGetsOn) {
  const Collective& reduce = model_.collectives[of("all_reduce")[1]];
  int64_t first = INT64_MAX, last = 0;
  for (const uint32_t part : reduce.events) {
    first = std::min<int64_t>(first, model_.events[part].ts);
    last = std::max<int64_t>(last, model_.events[part].end());
  }
  size_t arrived = 0;
  for (int64_t time = first; time < last;
       time += std::max<int64_t>(1, (last - first) / 200)) {
    const State state = state_at(model_, {Order::time, time, 0, 0.5f});
    ASSERT_TRUE(state.underway.any());
    ASSERT_GE(state.underway.arrived, arrived);
    arrived = state.underway.arrived;
  }
  const State early = state_at(model_, {Order::time, first, 0, 0.5f});
  EXPECT_GE(early.underway.awaited, 0) << "the other ranks have not arrived yet";
  EXPECT_EQ(early.underway.arrived, 0u);
}

}  // namespace
}  // namespace lockstep::gui
