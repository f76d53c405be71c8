"""What the words in tables mean, said once."""

REGRET = (
    "Regret is what a policy earns less, in expectation, than one who knew the truly best arm and always "
    "pulled it: less is better, and nobody can have none."
)
EARNINGS = "Earnings are expected: the luck of single outcomes is averaged out."
BEFOREHAND = "the arm that is best in expectation beforehand"
