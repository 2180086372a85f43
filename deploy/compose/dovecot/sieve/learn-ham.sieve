require ["vnd.dovecot.pipe", "copy", "imapsieve", "environment"];
if environment :is "imap.mailbox" "Trash" { stop; }
pipe :copy "genus-learn" ["ham"];
