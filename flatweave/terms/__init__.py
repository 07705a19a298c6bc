"""Variables, lets, lambdas and control: what both IRs are made of."""
