"""``python -m elsv`` is ``elsv``."""

from elsv.cli import main

main()
