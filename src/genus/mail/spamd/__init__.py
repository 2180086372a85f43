"""A server that speaks SpamAssassin's protocol, so that spamc, Exim and milters can ask genus."""
