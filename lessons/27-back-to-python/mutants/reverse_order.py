# rejected by: one_call_each
# because: the order is that of model.parameters()
#
# The misconception: the order does not matter.

# [solution-average]
    for parameter in reversed(list(model.parameters())):
        if parameter.grad is not None:
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()
    return
# [/solution-average]
