"""The tests of placement-lint; folders mirror the package."""
