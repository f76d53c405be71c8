"""Speed and memory, measured as ratios in one run. `make bench` runs everything here.

Each ``bench_*.py`` has ``run() -> list[dict]``: rows with name, value, unit and target (or None).
"""
