"""Thousands of jobs, each done by one of a few processes, and a line of report for each.

::

    jobfile, template   ->  Plan     every job was looked at; their text lies in one file
    Pool(Plan)          ->  Done     a worker process reads a job, runs it, writes its line
    or Cluster(Plan)    ->  Done     the same on other machines, each with a Pool of its own
    Done, in order      ->  Journal  the report: what it has is done, whatever dies when

A plan refuses as a whole. After that a job that fails is a line of the report, even if the
process that ran it died.
"""
