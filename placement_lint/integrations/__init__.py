"""What other programs call: each module is one of them."""
