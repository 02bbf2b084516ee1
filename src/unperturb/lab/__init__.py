"""The laboratory: experiments as data, runs that can be interrupted, tables from saved records."""
