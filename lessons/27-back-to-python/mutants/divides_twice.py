# rejected by: gradients_are_means
# because: the number of ranks twice
#
# The misconception: each rank divides before and after.

# [solution-average]
    for parameter in model.parameters():
        if parameter.grad is not None:
            parameter.grad /= dist.get_world_size()
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()
    return
# [/solution-average]
