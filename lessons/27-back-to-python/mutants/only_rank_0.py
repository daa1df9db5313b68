# rejected by: gradients_are_means
# because: on all of them
#
# The misconception: reduce is enough: rank 0 has the mean.

# [solution-average]
    for parameter in model.parameters():
        if parameter.grad is not None:
            dist.reduce(parameter.grad, 0)
            parameter.grad /= dist.get_world_size()
    return
# [/solution-average]
