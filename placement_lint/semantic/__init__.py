"""The semantic model of one file: what rules may ask about its functions, loops and environment."""
