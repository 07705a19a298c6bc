"""fw.tune: which version of a nest is faster at which sizes, measured on the user's inputs."""
