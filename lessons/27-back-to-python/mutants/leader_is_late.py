# rejected by: gradients_are_means
# because: one that only some of the ranks call never ends
#
# The misconception: only rank 0 needs to average.

# [solution-average]
    if dist.get_rank() != 0:
        return
    for parameter in model.parameters():
        if parameter.grad is not None:
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()
    return
# [/solution-average]
