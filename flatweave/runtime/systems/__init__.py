"""What the runtime takes from the system it is on: the table, and those who do its services."""
