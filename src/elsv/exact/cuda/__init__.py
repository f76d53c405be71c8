"""Exact answers on a GPU: sweeps over the lattice of two and three arms, in CUDA C++ (extra ``gpu``).

Read `run` first: it gives the optimum and the value of policies as `elsv.exact` does, which calls it for
``device="cuda"``. A policy on layers names its kernel (`elsv.policies.layers.LayerPolicy.kernel`), `sweeps`
starts the kernels of `lattice.cu`, and its `Device` alone knows CuPy.
"""
