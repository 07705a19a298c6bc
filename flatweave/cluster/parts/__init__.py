"""What the client has of what chunks found out: parts, joined where they are large."""
