"""Full-domain generalization: the lattice of levels, and searches over it."""
