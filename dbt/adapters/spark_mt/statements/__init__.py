"""The statement language: nodes, parser, renderer and routing; `parse(render(x)) == x`."""
