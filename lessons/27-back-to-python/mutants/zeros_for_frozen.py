# rejected by: one_call_each
# because: nothing for a parameter that is frozen
#
# The misconception: a frozen parameter takes part with zeros.

# [solution-average]
    for parameter in model.parameters():
        grad = parameter.grad
        if grad is None:
            grad = torch.zeros_like(parameter)
        dist.all_reduce(grad)
        grad /= dist.get_world_size()
    return
# [/solution-average]
