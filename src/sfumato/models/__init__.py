"""Models of data: a Bayesian network whose structure is harvested from the posets of the columns.

Augmented tables (Katirai): every column is accompanied by its generalizations as further fields, so
that generalizing a cell is suppressing the finer ones. A network over these fields says how
probable any value is, given whatever was published.
"""
