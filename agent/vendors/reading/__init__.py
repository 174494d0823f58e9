"""What vendors' tools print: formats that several of them share, and what follows from them."""
