// rejected by: at_once
// because: one after the other
//
// The misconception: a for loop over the replicas is parallel, since devices run
// asynchronously anyway.

// [solution-apply]
std::vector<Tensor> outputs;
for (size_t i = 0; i < inputs.size(); ++i) {
  outputs.push_back((*replicas[i])(inputs[i]));
}
return outputs;
// [/solution-apply]
