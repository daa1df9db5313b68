// rejected by: own_code
// because: must be written, not called
//
// The engine's own reduce does it in one line.

// [solution-reduce]
return parallel::reduce_add_coalesced(gradients, to);
// [/solution-reduce]
