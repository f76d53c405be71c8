"""The paper, figure by figure: each module holds the settings of an experiment as data and its analysis.

Read `base` first (what an experiment is), then `discount` as an example. `claims` has the rules of the
verdicts; `run` lists the experiments, runs them and writes the report.
"""
