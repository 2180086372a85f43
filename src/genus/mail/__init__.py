"""A spam filter: learns from mail that is labelled, and sorts what arrives."""

from __future__ import annotations
