"""The control socket of a proxy: commands, and the clients that send them."""
