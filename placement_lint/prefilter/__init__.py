"""The prefilter: which files can hold a finding, by their bytes alone, without parsing."""
