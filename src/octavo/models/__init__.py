"""Base models: resolving a name to a local folder, the embedded model, loading weights and tokenizers."""
