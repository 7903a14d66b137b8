"""The asynchronous client, from which `scripts/generate_sync.py` writes the synchronous one."""
