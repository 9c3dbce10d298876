"""The five documents run again: every table, example, claim and experiment, theirs beside ours.

line       one number or claim with its verdict, and how verdicts are come by
epgc, ladder, buckets, lom, cinder
           one file a document: what it prints, and our code run on the same question
drawing    charts as inline SVG
report     one HTML file that a person can read
run        which documents there are, and running some of them
"""
