"""What computes: tensors, indices, the kernel, results; numpy."""
