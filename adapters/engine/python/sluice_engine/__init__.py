"""Merges SSTables of one Lance table into its base, as told, and exits.

The worker decides what is merged, when, and whether a commit may land. This program only carries it
out: it reads the named SSTables, keeps the newest row of each key, and commits. It runs in a process of
its own, one for each execution, speaks JSON lines over stdin and stdout (`wire`), and ends when its
worker does.
"""

PYLANCE = "14.0.2"
"""The only release whose behaviour and error texts this program was measured against."""
