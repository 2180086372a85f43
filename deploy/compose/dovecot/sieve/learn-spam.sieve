require ["vnd.dovecot.pipe", "copy"];
pipe :copy "genus-learn" ["spam"];
