# rejected by: two_ranks
# because: divided by 3, but there are two ranks
#
# The misconception: there are always three ranks.

# [solution-average]
    for parameter in model.parameters():
        if parameter.grad is None:
            continue
        dist.all_reduce(parameter.grad)
        parameter.grad /= 3
    return
# [/solution-average]
