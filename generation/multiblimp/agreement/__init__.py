"""Which words agree with a subject, whether a language has that agreement, and forms that break it."""
