"""Exact answers on a GPU: sweeps over the lattice of two and three arms, in CUDA C++ (extra ``gpu``).

Read `run` first: it gives the optimum and the value of policies as `elsv.exact` does, which calls it for
``device="cuda"``. `sweeps` starts the kernels of `lattice.cu`, `rules` and `search` say which a policy is,
`losses` what simulated decisions lose, `cost` what it all takes, and `device` alone knows CuPy.
"""
