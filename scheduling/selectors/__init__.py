"""Reading what scheduling knows: views for the API, each with a constant number of queries."""
