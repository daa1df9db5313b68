# rejected by: gradients_are_means
# because: must be written into parameter.grad
#
# The misconception: the result is a new tensor, which nobody assigns.

# [solution-average]
    for parameter in model.parameters():
        if parameter.grad is not None:
            mean = parameter.grad.clone()
            dist.all_reduce(mean)
            mean /= dist.get_world_size()
    return
# [/solution-average]
