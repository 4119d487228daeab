"""Where examples come from: files, hub data sets, the procedural corpus, or a mixture of them."""
