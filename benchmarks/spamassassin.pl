# SpamAssassin's Bayes classifier alone: perl spamassassin.pl learn|check HOME FOLDER
# Or perl spamassassin.pl stream HOME -, with lines `check PATH`, `ham PATH` or `spam PATH` in stdin;
# each is answered by a line with a probability, or 0.
use strict;
use warnings;
use Mail::SpamAssassin;

my ($what, $home, $folder) = @ARGV;
my $rules = "$home/rules";
mkdir $rules;
open my $cf, '>', "$rules/bayes.cf" or die $!;
print $cf <<"END";
use_bayes 1
use_bayes_rules 1
bayes_auto_learn 0
bayes_path $home/bayes
bayes_min_ham_num 1
bayes_min_spam_num 1
bayes_learn_to_journal 0
lock_method flock
loadplugin Mail::SpamAssassin::Plugin::Check
loadplugin Mail::SpamAssassin::Plugin::Bayes
include /usr/share/spamassassin/20_aux_tlds.cf
body BAYES_ANY eval:check_bayes('0.00', '1.01')
tflags BAYES_ANY learn
score BAYES_ANY 0.1
END
close $cf;
my $sa = Mail::SpamAssassin->new({
    rules_filename => $rules, site_rules_filename => $rules, userstate_dir => $home,
    local_tests_only => 1, dont_copy_prefs => 1, userprefs_filename => '/dev/null',
});
$sa->init(1);
$sa->init_learner({}) if $what ne 'check';
if ($what eq 'stream') {
    $| = 1;
    while (my $line = <STDIN>) {
        chomp $line;
        my ($order, $path) = split / /, $line, 2;
        my $message = parsed($path);
        my $score = 0;
        if ($order eq 'check') {
            my $status = $sa->check($message);
            $score = $status->{bayes_score} // 0.5;
            $status->finish;
        } else {
            $sa->learn($message, undef, $order eq 'spam', 0)->finish;
        }
        $message->finish;
        print "$score\n";
    }
    $sa->finish;
    exit;
}
for my $label ('ham', 'spam') {
    for my $path (sort glob("$folder/$label/*")) {
        my $message = parsed($path);
        if ($what eq 'learn') {
            $sa->learn($message, undef, $label eq 'spam', 0)->finish;
        } else {
            my $status = $sa->check($message);
            my ($name) = $path =~ m{([^/]+)$};
            my $score = $status->{bayes_score};
            print $name, ' ', (defined $score ? sprintf('%.17g', $score) : 0.5), "\n";
            $status->finish;
        }
        $message->finish;
    }
}
$sa->rebuild_learner_caches if $what eq 'learn';
$sa->finish;

sub parsed {
    my ($path) = @_;
    open my $file, '<:raw', $path or die $!;
    my @lines = <$file>;
    close $file;
    return $sa->parse(\@lines);
}
