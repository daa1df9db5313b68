# rejected by: gradients_are_means
# because: has only begun
#
# The misconception: what is divided before the all-reduce needs no wait after it.

# [solution-average]
    for parameter in model.parameters():
        if parameter.grad is not None:
            parameter.grad /= dist.get_world_size()
            dist.all_reduce(parameter.grad, async_op=True)
    return
# [/solution-average]
