# rejected by: hook_norms
# because: the means are not there yet
#
# The misconception: the norm of the mean is the mean of the norms.

# [solution-hook]
    buffer, views, index = bucket.buffer(), bucket.gradients(), bucket.index()
    norms[index] = [view.norm().item() for view in views]
    buffer /= dist.get_world_size()
    work = dist.all_reduce(buffer, async_op=True)
    return work.get_future().then(lambda future: future.value()[0])
# [/solution-hook]
