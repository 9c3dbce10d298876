"""python -m evenmatch"""

from evenmatch.cli import main

main()
