"""The views, which return what each screen of the studio shows as JSON values."""
