"""A milter, which Postfix and Sendmail ask about mail before they accept it."""
