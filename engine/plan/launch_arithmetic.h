// One process's share of the command line's totals: the arithmetic of PyTorch's
// ImageNet example with --multiprocessing-distributed, where `-b` and `-j` are per
// node, and `--world-size` and `--rank` count nodes.
// Source: github.com/pytorch/examples, imagenet/main.py, `main` and `main_worker`.
// These are functions because the launcher and all processes must obtain equal values.
#pragma once

namespace lockstep::plan {

/// Discards the remainder: 256 on 3 GPUs is 85 each; 0 if batch < ngpus_per_node.
constexpr int per_process_batch(int batch, int ngpus_per_node) {
  return batch / ngpus_per_node;
}

/// Rounds up: a nonzero request gives every process at least one worker.
constexpr int per_process_workers(int workers, int ngpus_per_node) {
  return (workers + ngpus_per_node - 1) / ngpus_per_node;
}

constexpr int total_world_size(int nodes, int ngpus_per_node) {
  return ngpus_per_node * nodes;
}

/// `gpu` is the index within the node; the result is the rank across all nodes.
constexpr int global_rank(int node_rank, int gpu, int ngpus_per_node) {
  return node_rank * ngpus_per_node + gpu;
}

}  // namespace lockstep::plan
