// rejected by: adapter
// because: 25088 = 512
//
// The misconception: VGG ends like ResNet, with one number per channel.

// [solution-adapter]
return ops::flatten(ops::adaptive_avg_pool2d(features, 1, 1));
// [/solution-adapter]
