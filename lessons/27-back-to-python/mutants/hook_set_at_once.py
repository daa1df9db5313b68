# rejected by: hook_means
# because: not one whose result is set at once
#
# The misconception: the all-reduce works in place, so its future is not needed.

# [solution-hook]
    buffer, views, index = bucket.buffer(), bucket.gradients(), bucket.index()
    buffer /= dist.get_world_size()

    def finish(future):
        norms[index] = [view.norm().item() for view in views]

    dist.all_reduce(buffer, async_op=True).get_future().then(finish)
    future = torch.futures.Future()
    future.set_result(buffer)
    return future
# [/solution-hook]
