"""What weak and strong components share: their certificate."""
