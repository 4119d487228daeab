"""The core: many adapters over one frozen model in one packed step. Tensors and specs in, tensors out.

Shape letters used in all of this package:
    T  tokens of a pack (all sequences of all lanes, concatenated, no padding)
    N  sequences of a pack, or labelled positions where a name says so
    K  lanes
    I, O  input and output features of a linear layer
    R  rank of the widest adapter (narrower ones are padded with zero rows, which stay zero)
    P  numbers in one lane's adapter, flattened
    H, D  attention heads and their width
    V  vocabulary
"""
