"""Rows for errors of optimizers, schedules and modules when they are made, loaded or stepped."""

from __future__ import annotations

from .row import Row

_SETUP = "refused-setup"
_OPTIMIZERS = r"\boptim\b"

OF_OPTIMIZERS = (
    Row(
        r"some parameters appear in more than one parameter group",
        _SETUP,
        "{twice} in more than one parameter group of the optimizer{here}, so that one step would change the same "
        "values more than once.",
        "give each parameter to one group only: leave out of a group what another one holds, also where two modules "
        "share it",
    ),
    Row(
        r"'?(?P<found>[\w.]+)'? object is not iterable",
        _SETUP,
        "the optimizer{here} is given an object of type {found} where a list of parameters belongs.",
        "pass its parameters: module.parameters(), or a list of tensors",
        within=_OPTIMIZERS,
    ),
    Row(
        r"iterable of Tensors or dicts, but got",
        _SETUP,
        "the optimizer{here} is given a single tensor where a list of parameters belongs.",
        "put it into a list: [{argument}]",
    ),
    Row(
        r"can only optimize Tensors, but one of the params is (?:\w+\.)*(?P<found>\w+)",
        _SETUP,
        "the optimizer{here} is given an object of type {found} among its parameters, which is not a tensor.",
        "pass the tensors themselves: module.parameters() for a module, [*a.parameters(), *b.parameters()] for "
        "several, the values and not the keys of a dictionary",
    ),
    Row(
        r"organized in ordered collections",
        _SETUP,
        "the optimizer{here} is given a set of parameters, whose order differs from run to run, and its state goes by "
        "that order.",
        "pass a list: list(dict.fromkeys(...)) drops duplicates and keeps the order",
    ),
    Row(
        r"param_groups? must be a (?:list of )?dicts?, but got",
        _SETUP,
        "the optimizer{here} is given groups and bare parameters in one list, or a group that is not a dictionary.",
        'make each of them a group: {{"params": [...]}}',
    ),
    Row(
        r"^'?params'?$",
        _SETUP,
        'a parameter group that the optimizer{here} is given has no entry "params".',
        'call the list of parameters "params" in each group: {{"params": [...], "lr": ...}}',
        within=_OPTIMIZERS,
    ),
    Row(
        r"with/without names",
        _SETUP,
        "the optimizer{here} is given names for some of its parameters and none for others.",
        "named_parameters() for every group, or parameters() for every group",
    ),
    Row(
        r"didn't specify a value of required optimization parameter (?P<name>\w+)",
        _SETUP,
        "a parameter group of the optimizer{here} has no {name}, and the optimizer was given none for all groups.",
        "{name}=... as an argument of the optimizer, or in every group",
    ),
    Row(
        r"^Invalid (?P<name>[\w ]+?)(?: value)?s?(?: at index \d+)?: (?P<found>.+)$|"
        r"^(?P<other>[\w ]+?) should be (?P<bound>[<>]=? \S+) but is: ",
        _SETUP,
        "the optimizer{here} is given a setting outside its range: {message}.",
        "a value within the range: a rate, a decay and an epsilon of at least 0, betas and averages from 0 to below 1",
        within=_OPTIMIZERS,
    ),
    Row(
        r"doesn't support per-parameter options",
        _SETUP,
        "the optimizer{here} knows one group of parameters only, and is given several.",
        "one list of all parameters, or an optimizer for each group",
    ),
    Row(
        r"step\(\) missing 1 required positional argument: 'closure'",
        _SETUP,
        "the optimizer steps{here} without a closure, and it has to compute the loss several times in each step.",
        "optimizer.step(closure), where closure() clears the gradients, computes the loss, runs backward() and "
        "returns the loss",
        within=r".",
    ),
    Row(
        r"loaded state dict has a different number of parameter groups",
        _SETUP,
        "the state that {receiver} is given{here} was saved by an optimizer with another number of parameter groups.",
        "build the optimizer with the same groups, in the same order, as the one that was saved, or go on with a fresh "
        "state",
    ),
    Row(
        r"parameter group that doesn't match the size of optimizer's group",
        _SETUP,
        "the state that {receiver} is given{here} was saved by an optimizer whose groups held another number of "
        "parameters.",
        "give the optimizer the same parameters, in the same order, as the one that was saved; load the state before "
        "parameters are added, removed or frozen",
    ),
    Row(
        r"^'?(?:param_groups|state)'?$",
        _SETUP,
        "what {receiver} is given{here} is not the state of an optimizer: it has no entry {message}.",
        "optimizer.load_state_dict(saved[...]), with what optimizer.state_dict() returned",
        within=_OPTIMIZERS,
    ),
)
"""Errors of optimizers."""

OF_SCHEDULES = (
    Row(
        r"'initial_lr' is not specified in param_groups",
        _SETUP,
        "the schedule{here} is to continue after a given epoch, and the optimizer does not know its initial rate: "
        "it is new, or its state has not been loaded yet.",
        "optimizer.load_state_dict(...) before the schedule is made, or make it without last_epoch and load its own "
        "state",
    ),
    Row(
        r"(?P<found>\w+) is not an Optimizer",
        _SETUP,
        "the schedule{here} is given an object of type {found} where an optimizer belongs.",
        "pass the optimizer whose learning rate is to change",
    ),
    Row(
        r"[Tt]ried to step (?P<given>\d+) times\. The (?:specified )?number of total steps is (?P<wanted>\d+)",
        _SETUP,
        "{receiver}.step(){here} takes step {given}, and the schedule was made for {wanted} steps.",
        "make it for as many steps as the loop takes (total_steps, or epochs and steps_per_epoch), and call its step() "
        "once for each step of the optimizer",
    ),
    Row(
        r"[Ee]xpected (?P<wanted>\d+) (?P<name>\w+),(?: but)? got (?P<given>\d+)"
        r"|(?P<other>\w+) must have the same length as optimizer.param_groups",
        _SETUP,
        "the schedule{here} is given another number of values in {name} than its optimizer has parameter groups: "
        "{message}.",
        "as many values as the optimizer has groups, or a single one (not in a list) for all",
        within=_OPTIMIZERS,
    ),
    Row(
        r"number of param groups in the `optimizer` \((?P<given>\d+)\) differs from when",
        _SETUP,
        "a parameter group was added to the optimizer after its schedule was made, which{here} does not know it.",
        "add groups before the schedule is made, or give the schedule a single number in place of a list",
    ),
    Row(
        r"must support momentum or beta1 with `cycle_momentum`",
        _SETUP,
        "the schedule{here} is to change the momentum as well, and its optimizer has none.",
        "cycle_momentum=False, or an optimizer that has momentum or betas, as SGD and Adam",
    ),
    Row(
        r"expects all schedulers to belong to the same optimizer",
        _SETUP,
        "the schedules that are joined{here} were made for different optimizers.",
        "make all of them for the one optimizer that they are to steer",
    ),
    Row(
        r"number of schedulers (?P<given>\d+) and the number of milestones to be equal to (?P<wanted>\d+)",
        _SETUP,
        "{given} schedules are joined{here} with {wanted} milestones.",
        "one milestone less than there are schedules: the step at which each of them, but for the first, begins",
    ),
    Row(
        r"does not support `?ReduceLROnPlateau`? scheduler",
        _SETUP,
        "one of the schedules that are joined{here} is a ReduceLROnPlateau, whose step() needs to be given the loss.",
        "leave it out of those that are joined, and call its step(loss) by itself",
    ),
    Row(
        r"You must define either total_steps",
        _SETUP,
        "the schedule{here} is made without saying for how many steps.",
        "total_steps=..., or both epochs=... and steps_per_epoch=len(loader)",
    ),
    Row(
        r"multiplicative factor expected|^Factor should be",
        _SETUP,
        "the schedule{here} is given a factor outside its range: {message}.",
        "a factor from 0 to 1 that the learning rate is multiplied by",
    ),
    Row(
        r"^(?:Expected|mode|anneal_strategy) .+",
        _SETUP,
        "the schedule{here} is given a setting that it cannot use: {message}.",
        "a value of the kind that is asked for: whole positive numbers for steps and epochs, known words for modes",
        within=r"\boptim\.lr_scheduler\b",
    ),
)
"""Errors of learning rate schedules."""

OF_STATES = (
    Row(
        r"loading state_dict for (?P<found>\w+):.*Missing key\(s\)[^\n]*?: \"(?P<name>[^\"]+)\".*"
        r"Unexpected key\(s\)[^\n]*?: \"(?P<given>[^\"]+)\"",
        _SETUP,
        "the state that is loaded{here} calls parameters otherwise than the {found} that loads it: the module has "
        '"{name}", the state "{given}".',
        "save and load by the same module: the wrapper or its .module on both sides, and the same layers under the "
        "same names; else rename the keys before loading",
    ),
    Row(
        r"loading state_dict for (?P<found>\w+):.*Missing key\(s\)[^\n]*?: \"(?P<name>[^\"]+)\"",
        _SETUP,
        'the state that is loaded{here} lacks "{name}", which the {found} that loads it has.',
        "load a state of the same architecture; strict=False leaves what is missing as it is, and says what that was",
    ),
    Row(
        r"loading state_dict for (?P<found>\w+):.*Unexpected key\(s\)[^\n]*?: \"(?P<given>[^\"]+)\"",
        _SETUP,
        'the state that is loaded{here} holds "{given}", which the {found} that loads it does not have.',
        "build the module as it was when its state was saved, or drop these keys before loading",
    ),
    Row(
        r"loading state_dict for (?P<found>\w+):.*?size mismatch for (?P<name>[\w.]+): [^\[]*\[(?P<given>[\d, ]*)\]"
        r"[^\[]*\[(?P<wanted>[\d, ]*)\]",
        _SETUP,
        "the state that is loaded{here} holds {name} in the shape [{given}], and the {found} that loads it has "
        "[{wanted}] there.",
        "build the module with the sizes that it was saved with, or leave {name} out of the state and train it again",
    ),
    Row(
        r"Expected state_dict to be dict-like, got <class '(?:\w+\.)*(?P<found>\w+)'>",
        _SETUP,
        "load_state_dict{here} is given an object of type {found}, and takes the dictionary that state_dict() returns.",
        "give it other.state_dict(), or what torch.load(path) reads of a file that holds one",
    ),
    Row(
        r"total norm of order .* is non-finite, so it cannot be clipped",
        _SETUP,
        "the gradients that are clipped{here} hold a NaN or an infinity, so they have no norm to be scaled by.",
        "look for what makes them so in the forward or backward pass; skip the step where scaled gradients overflow",
    ),
    Row(
        r"Cannot register two (?P<name>\w+) hooks on the same parameter (?P<given>\w+)",
        _SETUP,
        "{name}{here} is put on {given} a second time.",
        "call it once for each layer, when the layer is made",
    ),
    Row(
        r"Expected more than 1 value per channel when training",
        _SETUP,
        "a layer that normalises over the batch is given{here} a single value for each channel, which has no spread.",
        "batches of at least two (drop_last=True for the loader), module.eval() for single examples, or GroupNorm",
    ),
)
"""Errors of modules and of functions that change their parameters."""

OF_SETUP = (*OF_OPTIMIZERS, *OF_SCHEDULES, *OF_STATES)
