"""The loop of bare.cpp, built by the machine's compiler for the machine's processor."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from benchmarks.corpus import FOLDER, Corpus

SOURCE = Path(__file__).with_name("bare.cpp")


def count_words(corpus: Corpus) -> Callable[[], int]:
    """A call that counts the words of a corpus on all cores; it returns how many differ."""
    library = FOLDER / "bare.so"
    FOLDER.mkdir(parents=True, exist_ok=True)
    if not library.exists() or library.stat().st_mtime < SOURCE.stat().st_mtime:
        flags = ["-O3", "-march=native", "-std=c++20", "-shared", "-fPIC", "-pthread"]
        subprocess.run(["g++", *flags, str(SOURCE), "-o", str(library)], check=True)
    function = ctypes.CDLL(str(library)).count_words
    function.restype = ctypes.c_int64
    arrays = (corpus.text, corpus.offsets, corpus.y)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    threads = len(os.sched_getaffinity(0))
    return lambda: function(*pointers, ctypes.c_int64(len(corpus)), threads)
