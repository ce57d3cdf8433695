"""What the browser gets: the pages of the rooms, their scripts and their style."""
