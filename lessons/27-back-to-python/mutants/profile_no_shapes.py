# rejected by: shapes_recorded
# because: has names and times only
#
# The misconception: a profile has shapes.

# [solution-profile]
    for _ in range(warm_up):
        step()
    with profile(activities=[ProfilerActivity.CPU]) as recorded:
        step()
    write_profile(recorded, os.path.join(folder, f"rank-{dist.get_rank()}.json"))
    return
# [/solution-profile]
