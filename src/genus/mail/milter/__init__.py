"""A milter: Postfix and Sendmail ask it about mail before they accept it."""
