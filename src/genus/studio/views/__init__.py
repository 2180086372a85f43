"""The views: what each screen of the studio shows, as values for JSON."""
