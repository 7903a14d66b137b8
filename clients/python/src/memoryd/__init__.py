"""Client of memoryd, a memory service for AI agents."""
