"""A spam filter that learns from labelled mail and sorts what arrives."""

from __future__ import annotations
