"""What tensors do in Python; see Tensor."""
