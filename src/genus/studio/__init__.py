"""`genus studio`: a local web page for exploring a table with a model.

A session holds the rows, the model and its changes; views turn parts of it into JSON; the page
draws them. Everything is computed here, by functions of the public interface.
"""
