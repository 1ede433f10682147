"""What explains a wrong output: hypotheses about a call, its indices, its data and its output.

::

    *_hypotheses                         tables of hypotheses: a name, a sentence, a function
    Prediction                           the elements that a combination of them predicts
    Candidates, ObservedOutput           combinations of rows, and what they are compared with
    Search                               the combinations by the cells that they explain
    Diagnosis                            the explanations, ranked, each proved on every cell
"""
