"""One profile for the property tests: no deadlines, since machines are shared, and no luck."""

from hypothesis import settings

settings.register_profile("unperturb", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("unperturb")
