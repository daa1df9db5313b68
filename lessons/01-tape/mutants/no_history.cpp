// rejected by: product_gradient
// because: attaches the node to y
//
// The misconception: the engine finds the formula by itself.

// [solution-product]
return y;
// [/solution-product]
