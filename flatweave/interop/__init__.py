"""Functions of ours as differentiable functions of other libraries: fw.torch and fw.jax."""
