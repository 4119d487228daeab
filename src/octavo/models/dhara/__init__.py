"""Dhara: a Llama-like decoder with Canon layers, causal or for masked diffusion, in plain PyTorch."""
