"""Pure figures: a tidy frame in, a Plotly figure out."""
