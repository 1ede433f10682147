"""Batches: run thousands of jobs in a few processes, and report one line for each.

::

    jobfile, patterns   ->  Plan     validates all jobs and copies them to one file
    Pool(Plan)          ->  Outcome  a process reads a job, runs it and writes its line
    or Cluster(Plan)    ->  Outcome  the same on other machines, each with its own Pool
    Outcome             ->  Journal  the report, which has all completed jobs even after a crash

An invalid job rejects the whole plan. Later a failed job is a line of the report, even if its
process died.
"""
