"""Arrays and the labels of their axes: labels, vocabularies, matrices, options."""
