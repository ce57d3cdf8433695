"""What people say about minimal pairs: questionnaires, and the answers to them."""
