# rejected by: gradients_are_means
# because: yours must be written, not called
#
# The misconception: DistributedDataParallel does it.

# [solution-average]
    torch.nn.parallel.DistributedDataParallel(model)
    return
# [/solution-average]
