// rejected by: product_gradient
// because: hangs the node behind y
//
// The misconception: the engine finds the formula by itself.

// [solution-product]
  return y;
// [/solution-product]
