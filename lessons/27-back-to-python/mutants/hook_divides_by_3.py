# rejected by: two_ranks
# because: divided by 3, but there are two ranks
#
# The misconception: there are always three ranks.

# [solution-hook]
    buffer, views, index = bucket.buffer(), bucket.gradients(), bucket.index()
    buffer /= 3

    def finish(future):
        norms[index] = [view.norm().item() for view in views]
        return future.value()[0]

    return dist.all_reduce(buffer, async_op=True).get_future().then(finish)
# [/solution-hook]
