# rejected by: gradients_are_means
# because: this is the sum over all ranks
#
# The misconception: all_reduce gives the mean.

# [solution-average]
    for parameter in model.parameters():
        if parameter.grad is not None:
            dist.all_reduce(parameter.grad)
    return
# [/solution-average]
