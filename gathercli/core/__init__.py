"""What a tensor operator is: dimensions, types, versions, rules. Standard library only."""
