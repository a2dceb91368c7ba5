"""glibc's allocator, told to keep the memory that a training step frees.

By default glibc gives every large block back to the system when it is freed. The next step then
asks for the same block, and the system clears each of its pages again.
"""

import ctypes

TRIM, TOP_PAD, MMAP = -1, -2, -3  # mallopt's parameters, as malloc.h names them


def keep_freed_memory() -> bool:
    """Whether the allocator took the advice: True on Linux with glibc, False elsewhere."""
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):  # another system, or another C library
        return False
    most = 2**31 - 1
    return all([mallopt(MMAP, 2**30), mallopt(TRIM, most), mallopt(TOP_PAD, 2**26)])
