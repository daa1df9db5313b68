// rejected by: any_size
// because: never complete
//
// Not a rule: the cases that the tests are known to use.

// [solution-sizes]
if (batch == 8 && devices == 4) return {2, 2, 2, 2};
if (batch == 10 && devices == 4) return {3, 3, 3, 1};
if (batch == 9 && devices == 4) return {3, 3, 3};
if (batch == 3 && devices == 4) return {1, 1, 1};
return {batch};
// [/solution-sizes]
