# rejected by: hook_norms
# because: .item() is its number
#
# The misconception: a tensor of one element is a number.

# [solution-hook]
    buffer, views, index = bucket.buffer(), bucket.gradients(), bucket.index()
    buffer /= dist.get_world_size()

    def finish(future):
        norms[index] = [view.norm() for view in views]
        return future.value()[0]

    return dist.all_reduce(buffer, async_op=True).get_future().then(finish)
# [/solution-hook]
