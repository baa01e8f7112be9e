"""The thresholds of the rules, each with its justification.

Most follow from the precision of numbers or from what is habit and what is chance.  Where one was chosen, it lies in
the middle of a wide range in which the programs of ``tests/bug_programs`` and their right twins are distinguished.
"""

from __future__ import annotations

# -- habits: how often something must be seen before it is what a program does

HABIT = 2
"""Steps or passes that make a habit: one alone may be the first, the last, a warm-up or a batch that was left out."""
STEADY = 3
"""The same where schedules, or rows of equal weights, begin or end so by right."""
SERIES = 5
"""Calls of one line that are a loop in time or depth, and no list of layers or terms that somebody wrote out."""
LONG_HISTORY = 20
"""Steps of a recurrence from which on its history costs more than one pass through a sequence usually does."""
LOOP = 100
"""Calls of one line in one graph from which on they are a loop over entries: nobody has as many layers of one kind."""
OFTEN_ZERO = 0.25
"""Share of steps with a zero rate above which it is not just the end of a schedule."""

# -- budgets: of similar things no more are examined, for a walk through the graph may be long

ASKED_OF_A_LINE = 10
"""Tensors or calls of one line: the eleventh of a loop shows nothing that ten did not."""
LAYERS_ASKED = 16
"""Calls of one line, or depths beside each other, at either end: a saturated layer is the first or the last."""
CALLS_OF_A_STEP = 4
"""Calls from a gradient to the point that a step arrives at: it may be scaled, clipped and averaged on the way."""
DRAWN_ABOVE = 4
"""Lines down to a call of which one may have drawn what it takes: nothing records what Python and NumPy draw."""
AXES = 5
"""Axes of a tensor of which all orders are tried."""
SHOWN_TENSORS = 3
"""Tensors of a case of which the evidence is shown: more are like them."""
CUTS_ALIKE = 3
"""Cuts that one line makes and one line takes."""
RECOMPUTATIONS_ASKED = 3
"""Backward calls of one Function that are compared with forward."""

# -- rounding: what two ways to compute the same may differ by

REORDERED = 1e-4
"""Relative difference of sums of float32 added up in another order: 2**-24 times the square root of 10**6 entries."""
MEASURED = 1e-3
"""Relative error of a slope taken by finite differences in float64 along a random direction, with room."""
DIFFERENT = 1e-2
"""Relative difference from which on two derivatives are not the same: ten times what measuring them may err by."""
ROUNDED_CHANCES = 1e-3
"""How far the sum of probabilities may be from 1, and their logarithm above 0, in half precision (2**-10)."""
CANCELLED = 1e-5
"""Share of a gradient that is left where two ways cancel: a hundred roundings of float32."""
LAST_DIGIT = 2.0**-22
"""Share of a number in float32 up to which a change is of the size of rounding: twice the space to the next one."""
SEEN = 1e-5
"""Changes of this size are seen in a float32 of up to about 80."""
NOTHING = 1e-12
"""Norm of a gradient, and share of one that a node passes on, below which nothing is left: 10**6 roundings of float32
short of the smallest step that moves a weight of size one."""
SMALLEST_NORMAL_HALF = 6.104e-5
"""Of float16: below it numbers lose digits, and from 5.96e-8 on they are zero."""
HIDDEN_BY_EPSILON = 1e-6
"""Slopes below this may be hidden by the epsilon (1e-8 and more) of optimizers that divide by them."""

# -- sizes: what has grown or faded beyond what data do

VANISHED = 1e6
"""Ratio of gradients along a depth that counts as vanished or exploded: more than a float16 has."""
MADE_BY_DEPTH = 1e4
"""Ratio at the two ends of a depth from which on that depth, and nothing else, makes gradients small or large."""
FADED = 1e-9
"""Share of a gradient at the other end of a depth below which float32 adds nothing of it to what comes beside it."""
GROWN_GRAPH = 1.5
"""How much more a backward walks than the first of its line did, if it walks earlier steps: batches differ by less."""
GROWN = 1e3
"""Ratio from which on a loss, or what a weight makes of the data, has grown beyond all noise of batches."""
GROWING = 10.0
"""The same for what a weight makes of the data, if the loss shows that the growth continues."""
RISES = 3
"""Steps after which a loss must have risen, one after another, where none of them alone does it."""
GROWN_BEFORE = 1e6
"""Inputs of a call that overflows because something else had grown already: data and layers stay far below it."""
CANCELLING = 1e18
"""Inputs of a sum of products, finite each, whose terms overflow float32 (3.4e38) with both signs: NaN at once."""
BEYOND = 1e3
"""A bound of clipping so many times larger than any gradient that came bounds nothing."""
SAME_NUMBER = 1e-6
"""Relative difference of numbers that are equal, computed in double precision in another order."""
USUAL_RATE = 1e-3
"""The rate that optimizers have where none is given; by it is judged whether a smaller one still moves weights."""
MEANT_AS_EPSILON = 1e-2
"""Up to here a constant that is added, or a bound, is meant to keep off zero: people write 1e-12 to 1e-2."""
HALF_OF_IT = 0.5
"""Share of the time, the memory or the entries above which one thing is responsible for it."""
MOST_OF_IT = 0.8
"""Share of the memory that values of one size take together, if they are what it is for."""
NEARLY_ALL = 0.9
"""Share that counts as each of them, where the first and the last may lack what the others have."""

# -- costs that are worth a word

MIB = 2**20
BLOW_UP = 8
"""How many times as large as what it was made of a saved value must be: layers widen by four."""
ENTRY_BY_ENTRY = 500
"""Parts that a rule takes and writes, one by one, from which on it does so in a loop over entries."""
MOVED = 20_000_000
"""Entries that all calls of a loop move, together: what is less takes no time that anybody would notice."""
LARGE_MATRIX = 256
"""Rows of a matrix whose exponential takes long: its cost grows with their third power."""
PART = 50
"""How many times larger a tensor must be than the part that a call takes of it: then filling zeros is the cost."""
WORTH_TELLING = 0.1
"""Share of the whole time below which a loop does not matter to the user."""
MEDIANS = 20
"""Factor by which the duration of a slow node exceeds the median."""
