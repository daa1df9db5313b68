# rejected by: hook_one_call
# because: all-reduce the buffer, not its views
#
# The misconception: a bucket is sent parameter by parameter.

# [solution-hook]
    views, index, buffer = bucket.gradients(), bucket.index(), bucket.buffer()
    buffer /= dist.get_world_size()
    futures = [dist.all_reduce(view, async_op=True).get_future() for view in views]

    def finish(future):
        for each in futures:
            each.wait()
        norms[index] = [view.norm().item() for view in views]
        return buffer

    return futures[-1].then(finish)
# [/solution-hook]
