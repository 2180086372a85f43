"""`genus studio`: a local page on which a table is explored with the real models.

A session holds the rows, the model and what was done to it; views turn parts of it into JSON; the
page draws them. All of it is computed here, by the functions that users of the package may call.
"""
