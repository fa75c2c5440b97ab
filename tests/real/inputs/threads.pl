# Perl's own threads: four workers take numbers from a queue and give their squares to another.
use strict;
use warnings;
use threads;
use Thread::Queue;

my ($numbers, $squares) = (Thread::Queue->new, Thread::Queue->new);
my @workers = map {
    threads->create(sub {
        while (defined(my $number = $numbers->dequeue)) { $squares->enqueue($number * $number) }
    })
} 1 .. 4;
$numbers->enqueue($_) for 1 .. 2000;
$numbers->end;
$_->join for @workers;
my $sum = 0;
$sum += $squares->dequeue for 1 .. 2000;
print "$sum\n";
