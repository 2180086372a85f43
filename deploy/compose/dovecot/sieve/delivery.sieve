require ["fileinto"];
if header :matches "X-Genus" "spam;*" { fileinto "Junk"; stop; }
