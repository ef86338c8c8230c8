"""The statement language: nodes, parser and renderer, with `parse(render(x)) == x`."""
