"""What is derived from sessions for tables, panes and reports."""
