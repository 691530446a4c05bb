"""Machine code that is never stale: engines generated for the policies in use, cached on disk under a hash of every source."""
