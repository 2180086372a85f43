"""python -m genus.cli"""

from genus.cli import main

main()
