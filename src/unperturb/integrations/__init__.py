"""One module for each library that rewards are trained with; each needs its extra."""
