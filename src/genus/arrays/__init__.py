"""Arrays and what their axes are called: labels, vocabularies, matrices by layout, options."""
