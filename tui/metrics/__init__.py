"""What a running server does: its live figures, a smoke request, a small load, and what limits it now."""
