"""`python -m octavo` is the `octavo` program."""

from octavo.cli import main

main()
