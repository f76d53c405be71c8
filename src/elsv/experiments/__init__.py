"""The paper, figure by figure: each module holds the settings of an experiment as data and its analysis."""
