# rejected by: hook_norms
# because: of this step only
#
# The misconception: norms is a history.

# [solution-hook]
    buffer, views, index = bucket.buffer(), bucket.gradients(), bucket.index()
    buffer /= dist.get_world_size()

    def finish(future):
        norms.setdefault(index, []).extend(view.norm().item() for view in views)
        return future.value()[0]

    return dist.all_reduce(buffer, async_op=True).get_future().then(finish)
# [/solution-hook]
