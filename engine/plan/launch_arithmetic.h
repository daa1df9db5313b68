// What one process of a multi-process job gets of what the command line asks for: the
// arithmetic of PyTorch's ImageNet example with --multiprocessing-distributed. There
// `-b` and `-j` are a node's, and `--world-size` and `--rank` count nodes.
// Source: github.com/pytorch/examples, imagenet/main.py, `main` and `main_worker`.
// They are functions because the launcher and every process compute them and must agree.
#pragma once

namespace lockstep::plan {

/// The remainder is lost: 256 on 3 GPUs are 85 each. 0 when batch < ngpus_per_node.
constexpr int per_process_batch(int batch, int ngpus_per_node) {
  return batch / ngpus_per_node;
}

/// Rounded up: who asks for workers gets at least one.
constexpr int per_process_workers(int workers, int ngpus_per_node) {
  return (workers + ngpus_per_node - 1) / ngpus_per_node;
}

constexpr int total_world_size(int nodes, int ngpus_per_node) {
  return ngpus_per_node * nodes;
}

/// `gpu` counts within the node, the result over all nodes.
constexpr int global_rank(int node_rank, int gpu, int ngpus_per_node) {
  return node_rank * ngpus_per_node + gpu;
}

}  // namespace lockstep::plan
