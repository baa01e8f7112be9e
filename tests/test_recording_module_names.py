"""What modules and their parameters are called: from the variable of the program's outermost module on."""

from __future__ import annotations

import pytest
from recorded_pair import of_kind, record

from retrograd.inspect.diagnosis import diagnose

HEAD = """import torch
nn = torch.nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
        self.head = nn.Linear(4, 1)

    def forward(self, x):
        return self.head(self.encoder(x).detach())

    def parts(self, x):
        return self.head(self.encoder(x).detach())


def train(parameters, call):
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        call(torch.randn(8, 4)).square().mean().backward()
        optimizer.step()


torch.manual_seed(0)
"""
TRAINER = """class Trainer:
    def __init__(self):
        self.net = Model()

    def run(self):
        train(self.net.parameters(), lambda x: self.net(x))


"""
FUNCTION = """def main():
    judge = Model()
    train(judge.parameters(), judge.forward)


main()
"""
CHAIN = """chain = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
train(chain.parameters(), lambda x: chain[1](chain[0](x).detach()))
"""
LOOP = """models = [Model()]
for one in models:
    train(one.parameters(), lambda x: one(x))
"""
PROGRAMS = {
    "called as a whole": ("model = Model()\ntrain(model.parameters(), model)\n", "model.encoder.0.weight"),
    "its parts are called": ("gan = Model()\ntrain(gan.parameters(), gan.parts)\n", "gan.encoder.0.weight"),
    "of a function": (FUNCTION, "judge.encoder.0.weight"),
    "a layer of a chain": (CHAIN, "chain.0.weight"),
    "an attribute of a plain object": (
        f"{TRAINER}trainer = Trainer()\ntrainer.run()\n",
        "trainer.net.encoder.0.weight",
    ),
    "an object without a variable": (f"{TRAINER}Trainer().run()\n", "self.net.encoder.0.weight"),
    "an entry of a dictionary": (
        'nets = {"a": Model()}\ntrain(nets["a"].parameters(), lambda x: nets["a"](x))\n',
        'nets["a"].encoder.0.weight',
    ),
    "the variable of a loop": (LOOP, "models[0].encoder.0.weight"),
}


@pytest.mark.parametrize("engine", ["retrograd", "torch"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_findings_name_parameters_from_the_outermost_module_on(program: str, engine: str) -> None:
    """The name in the sentence is the one that leads to the parameter, as evaluated in the program it does."""
    pytest.importorskip(engine)
    text, name = PROGRAMS[program]
    recorded, error = record(HEAD + text, engine)

    assert error is None
    (finding,) = [one for one in diagnose(recorded) if one.kind == "broken-chain"]
    assert finding.message.startswith(f"{name} ")


@pytest.mark.parametrize("engine", ["retrograd", "torch"])
def test_scopes_of_parts_are_those_of_the_whole(engine: str) -> None:
    """A part that is called alone stands where it does when the whole is called."""
    pytest.importorskip(engine)
    recorded, _ = record(HEAD + "gan = Model()\ntrain(gan.parameters(), gan.parts)\n", engine)

    told = [(one.data["name"], one.data["scope"], one.data["type"]) for one in of_kind(recorded, "module")]
    assert told == [("gan.encoder", "gan/encoder", "Sequential"), ("gan.head", "gan/head", "Linear")]
    scopes = {event.data.get("scope", "") for event in recorded.events if event.kind == "operation"}
    assert {"gan/encoder/0", "gan/head"} <= scopes


@pytest.mark.parametrize("engine", ["retrograd", "torch"])
def test_modules_of_a_long_list(engine: str) -> None:
    """Each has its place in the list for a name; and where modules come and go, the next one has the name again."""
    pytest.importorskip(engine)
    recorded, error = record(
        """import torch
layers = [torch.nn.Linear(1, 1) for _ in range(1200)]
for layer in layers:
    layer(torch.ones(1))
def build():
    first, second = torch.nn.Sequential(torch.nn.Linear(1, 1)), torch.nn.Linear(1, 1)
    return second(first(torch.ones(1)))
for _ in range(300):
    build()
""",
        engine,
        level="graph",
    )

    assert error is None
    told = [(one.data["name"], one.data["scope"]) for one in of_kind(recorded, "module")]
    assert [name for name, _ in told[:1200]] == [f"layers[{place}]" for place in range(1200)]
    assert len({scope for _, scope in told[:1200]}) == 1200
    assert set(told[1200:]) == {("first", "first"), ("second", "second")}
