"""THE JOURNAL. What was decided, in order, for good; and the side tables that reads and names live in."""
