"""When phenomena are learned: in which order, how sure that is, and which factor makes it earlier or later."""
