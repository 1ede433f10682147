"""Batches: thousands of jobs, done by a few processes, and a line of report for each.

::

    jobfile, patterns   ->  Plan     all jobs are validated, and copied to one file
    Pool(Plan)          ->  Done     a process reads a job, runs it, writes its line
    or Cluster(Plan)    ->  Done     the same on other machines, each with a Pool of its own
    Done                ->  Journal  the report: it has every job that has ended, whatever dies

A plan is refused as a whole. After that a failed job is a line of the report, even if its process
died.
"""
