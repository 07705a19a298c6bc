"""Workers of a cluster: what they do, and what the client says when they or it are lost."""
