"""The host program under construction: buffers with owners, launches, error sites."""
