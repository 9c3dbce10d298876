"""Pages that stand alone: charts as inline SVG, and one HTML file with everything in it.

Used by every report: the documents run again, the benchmarks, the ratings of a file.
"""
