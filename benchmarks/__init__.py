"""Measuring slmtok beside its peers: the same bytes and ids, fresh processes, interleaved rounds, dated records."""
