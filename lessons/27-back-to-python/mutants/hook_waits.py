# rejected by: hook_returns
# because: so nothing overlaps
#
# The misconception: the hook returns when the sum is there.

# [solution-hook]
    buffer, views = bucket.buffer(), bucket.gradients()
    buffer /= dist.get_world_size()
    dist.all_reduce(buffer)
    norms[bucket.index()] = [view.norm().item() for view in views]
    future = torch.futures.Future()
    future.set_result(buffer)
    return future
# [/solution-hook]
