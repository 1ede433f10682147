"""The formats of tensors: a row of the table and a module each."""
