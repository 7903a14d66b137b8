"""The synchronous client, which `scripts/generate_sync.py` writes."""
