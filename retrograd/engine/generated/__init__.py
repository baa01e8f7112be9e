"""Code that is generated for each row of the operator table: the class of its node, and the function that calls it."""
