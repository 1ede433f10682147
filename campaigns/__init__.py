"""Long random trials, repeated by their seed: ``python -m campaigns calls --seconds 600``.

The suite tries each of these a few hundred times. A campaign goes on for as long as it is given,
stops at the first wrong answer and prints the seed that repeats it.
"""
