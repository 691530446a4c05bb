"""What a trace holds, in numbers."""
