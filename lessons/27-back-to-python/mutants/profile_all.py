# rejected by: one_step_recorded
# because: only the step after the warm-up
#
# The misconception: the profile of all steps contains that of one.

# [solution-profile]
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as recorded:
        for _ in range(warm_up + 1):
            step()
    write_profile(recorded, os.path.join(folder, f"rank-{dist.get_rank()}.json"))
    return
# [/solution-profile]
