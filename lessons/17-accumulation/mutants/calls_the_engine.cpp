// rejected by: own_code
// because: must be written, not called
//
// The engine's own wrapper has a no_sync.

// [top]
#include "engine/distributed/ddp/distributed_data_parallel.h"
// [/top]

// [solution-forward]
static distributed::DistributedDataParallel ddp(module_, group_);
const auto alone = ddp.no_sync();
return ddp(images);
// [/solution-forward]
