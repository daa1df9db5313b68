// Pipeline schedules with their messages: which rank sends and receives what, and when.
// Source of the rules: torch/distributed/pipelining/schedules.py, `_add_send_recv` and
// `_simulate_comms_compute`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/plan/pipeline.h"

namespace lockstep::plan {

/// The actions of each rank with its idle steps, as in PyTorch's CSV files.
using PipelineCells = std::vector<std::vector<std::optional<PipelineAction>>>;

/// Reads a schedule and keeps its empty cells. Throws like parse_schedule().
PipelineCells parse_cells(std::string_view csv);

/// An action, or the message of one: `0SEND_F3` sends the output of `0F3` to the next
/// stage, whose rank runs `1RECV_F3`; `1SEND_B3` and `0RECV_B3` carry the gradient.
struct PipelineInstruction {
  enum class Kind : uint8_t { compute, send, receive };
  Kind kind = Kind::compute;
  PipelineAction action;  ///< of a message: `F` or `B`, of the stage on this rank

  bool operator==(const PipelineInstruction&) const = default;
};
std::string to_text(const PipelineInstruction& instruction);

/// By rank, in order.
using PipelineProgram = std::vector<std::vector<PipelineInstruction>>;

/// Adds the messages. A send follows the action at once; at the same time the receive
/// is appended to the receiver's program. Ranks take turns, one cell each, and a rank
/// whose next action lacks its input waits. No message passes between stages of one
/// rank. Throws std::invalid_argument with the grid of broken_rule() if ranks wait for
/// each other.
PipelineProgram with_messages(const PipelineCells& cells);

/// Returns the number of steps that the program takes if each instruction takes one and
/// a receive waits for its send; std::nullopt if ranks wait for each other.
std::optional<size_t> simulated_steps(const PipelineProgram& program);

/// Returns torchgpipe's forward schedule: in each clock cycle, the (micro-batch, stage)
/// pairs that run at the same time.
std::vector<std::vector<std::pair<int, int>>> clock_cycles(int micro_batches,
                                                           int stages);

}  // namespace lockstep::plan
