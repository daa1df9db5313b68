# rejected by: hook_means
# because: With a hook, DDP does not divide
#
# The misconception: the hook only has to sum: DDP divides.

# [solution-hook]
    buffer, views, index = bucket.buffer(), bucket.gradients(), bucket.index()

    def finish(future):
        norms[index] = [view.norm().item() for view in views]
        return future.value()[0]

    return dist.all_reduce(buffer, async_op=True).get_future().then(finish)
# [/solution-hook]
