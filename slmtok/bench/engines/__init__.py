"""One file a peer, each with a class `Peer`; `slmtok.bench.registry` lists them."""
