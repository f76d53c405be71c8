"""``python -m elsv.cli`` is ``elsv``."""

from elsv.cli import main

main()
