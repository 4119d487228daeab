"""Statistical methods, one file each; arrays in, figures out, nothing of studies or files.

Letters of shapes: C clusters of items, S runs (seeds) of an arm, R runs of all arms, G arms, B draws; `...` stands for
any number of leading axes, so that thousands of simulated studies are judged in one call.

Two kinds of claim, two units. "These checkpoints differ": the items are the sample (`sign_flip`, `paired_bootstrap`,
`mcnemar`). "This recipe differs": the runs are (`run_permutation`, `welch`, `two_way_bootstrap`).
"""
