"""How long a step of a model takes on a GPU, how long a copy takes on a link, and what must fit in HBM."""
