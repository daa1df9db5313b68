# rejected by: gradients_are_means
# because: parameter.grad is None
#
# The misconception: every parameter has a gradient.

# [solution-average]
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()
    return
# [/solution-average]
