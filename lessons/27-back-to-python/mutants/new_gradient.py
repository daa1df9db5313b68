# rejected by: gradients_are_means
# because: work in place
#
# The misconception: an assignment to grad changes the gradient.

# [solution-average]
    for parameter in model.parameters():
        if parameter.grad is None:
            continue
        dist.all_reduce(parameter.grad)
        parameter.grad = parameter.grad / dist.get_world_size()
    return
# [/solution-average]
