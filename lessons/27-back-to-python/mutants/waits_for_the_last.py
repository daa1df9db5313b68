# rejected by: gradients_are_means
# because: One can end before another
#
# The misconception: when the last all-reduce has ended, all of them have. Gloo has
# several threads.

# [solution-average]
    work = None
    for parameter in model.parameters():
        if parameter.grad is not None:
            parameter.grad /= dist.get_world_size()
            work = dist.all_reduce(parameter.grad, async_op=True)
    work.wait()
    return
# [/solution-average]
