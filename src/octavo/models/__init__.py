"""Base models: resolving a name to a local folder, the embedded model, loading weights and tokenizers.

Importing this package makes the model types of `octavo.models.dhara` known to transformers' Auto classes.
"""

from octavo.models.registration import register_with_transformers

register_with_transformers()
