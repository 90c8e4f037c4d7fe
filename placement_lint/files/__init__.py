"""Files: bytes to source and back, notebooks, and which files a run reads."""
