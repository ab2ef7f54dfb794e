"""Searches on a graphics card: arrays in, arrays out, the same bits as on the CPU.

Nothing here is called but through `kernels/device.py`, which says where work runs. numba-cuda is
imported by the modules below, and so only where a card is asked for.
"""
