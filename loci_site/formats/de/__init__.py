"""As in English, but short and sortable."""
