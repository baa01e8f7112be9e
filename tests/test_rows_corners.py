"""Seldom used corners of the interface, each program on both engines."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
from both_engines import differential, raises, warned

import retrograd


@differential
def test_V_64_numpy_within_no_grad(torch):
    """V-64: within ``no_grad`` a tensor that requires grad gives its array, as it does in a Function's forward."""
    x = torch.ones(2, requires_grad=True)
    refused = [raises("Can't call numpy()", x.numpy), raises("Can't call numpy()", np.asarray, x)]
    with torch.no_grad():
        shared = x.numpy()
        shared[0] = 5.0
        return refused, shared, np.asarray(x), (x * 2).numpy()


@differential
def test_E_23_anomaly_flags_must_be_bools(torch):
    """E-23: ``set_detect_anomaly`` takes bools only, and changes nothing when it refuses."""
    text = "set_anomaly_enabled(): argument '{}' (position {}) must be bool, not {}"
    return (
        raises(text.format("enabled", 1, "int"), torch.autograd.set_detect_anomaly, 3),
        raises(text.format("check_nan", 2, "str"), torch.autograd.set_detect_anomaly, True, check_nan="no"),
        torch.is_anomaly_enabled(),
    )


@differential
def test_E_27_set_grad_enabled_remembers(torch):
    """E-27: ``set_grad_enabled`` says what it set and what was before."""
    mode = torch.set_grad_enabled(False)
    torch.set_grad_enabled(True)
    return mode.mode, mode.prev


@differential
def test_F_20_dirty_tensor_that_is_no_input(torch):
    """F-20: marking a tensor dirty that was no input warns."""

    class Marks(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.mark_dirty(y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = torch.ones(2, requires_grad=True)
    return warned("ctx.mark_dirty() received a tensor that was not an input. Only input Tensors", Marks.apply, x)


@differential
def test_V_28_detached_in_place_keeps_hooks(torch):
    """V-28: hooks of a tensor that is detached in place run again once it is a leaf that requires grad."""
    seen = []
    x = torch.ones(2, requires_grad=True) * 2
    x.register_hook(seen.append)
    x.detach_()
    kept = len(x._backward_hooks)
    x.requires_grad_()
    (x * 3).sum().backward()
    return kept, seen, x.grad


@differential
def test_V_48_copy_of_a_number(torch):
    """V-48: a number is copied into a tensor with history, and its old value takes no gradient."""
    x = torch.ones(2, requires_grad=True)
    y = x * 3
    y.copy_(2)
    z = torch.ones(2, dtype=torch.complex64, requires_grad=True)
    w = z * 3
    w.imag = 2
    (y.sum() + w.real.sum() + w.imag.sum()).backward()
    return y.grad_fn, y, w, x.grad, z.grad


@differential
def test_E_33_unpacking_other_levels(torch):
    """E-33: at a negative level nothing is dual, a level that is not open is refused."""
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        dual = fw.make_dual(torch.ones(2), torch.ones(2))
        refused = raises("Invalid level given to _fw_primal", fw.unpack_dual, dual, level=3)
        return refused, fw.unpack_dual(dual, level=-1).tangent, fw.unpack_dual(dual, level=0).tangent


@differential
def test_E_34_tangent_of_matrix_exp(torch):
    """E-34: the tangent of ``matrix_exp`` has no history of its own, and may be differentiated by the matrix."""
    fw = torch.autograd.forward_ad
    a = torch.tensor([[0.3, 1.0], [-0.4, 0.2]], dtype=torch.double)
    t = torch.tensor([[1.0, 2.0], [0.5, -1.0]], dtype=torch.double)
    with fw.dual_level():
        plain = fw.unpack_dual(torch.matrix_exp(fw.make_dual(a, t))).tangent
    a.requires_grad_()
    with fw.dual_level():
        tangent = fw.unpack_dual(torch.matrix_exp(fw.make_dual(a, t))).tangent
        second = torch.autograd.grad(tangent.sum(), a)
    z = a.detach() * (1 + 0.5j)
    with fw.dual_level():
        imaginary = fw.unpack_dual(torch.matrix_exp(fw.make_dual(z, t * (1 - 1j)))).tangent
    return plain, second, torch.view_as_real(imaginary)


def test_forward_jacobian_by_an_input_without_elements():
    """E-37: it has the shape of the reverse-mode one (PyTorch gives it or crashes, depending on the function)."""
    jacobian, nothing = retrograd.autograd.functional.jacobian, retrograd.ones(0)

    def spread(x):
        return retrograd.ones(3) * x.sum()

    found = jacobian(spread, nothing, vectorize=True, strategy="forward-mode")
    assert found.shape == jacobian(spread, nothing).shape == (3, 0)
    assert jacobian(lambda x: x, nothing, vectorize=True, strategy="forward-mode").shape == (0, 0)


@differential
def test_E_42_inputs_that_overlap(torch):
    """E-42: gradcheck refuses an input whose elements share memory."""
    x = torch.ones(1, dtype=torch.double).expand(3).detach().requires_grad_()
    return raises(
        "gradcheck only supports inputs that are non-overlapping", torch.autograd.gradcheck, lambda a: a * 2, x
    )


@differential
def test_checkpoint_group_is_entered_as_itself(torch):
    """A ``GraphExecGroup`` is what its ``with`` names, and the current one inside."""
    import importlib

    module = importlib.import_module(torch.__name__ + ".utils.checkpoint")
    with module.GraphExecGroup() as group:
        inside = module.GraphExecGroup._get_current_group() is group
    return inside, module.GraphExecGroup._get_current_group()


@differential
def test_V_17_hooks_of_parameters_stay_behind_silently(torch):
    """V-17: pickling warns of the hooks of a plain tensor, not of those of a Parameter."""
    plain, parameter = torch.ones(1, requires_grad=True), torch.nn.Parameter(torch.ones(1))
    for t in (plain, parameter):
        t.register_hook(len)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pickle.dumps(plain), pickle.dumps(parameter), copy.deepcopy(parameter)
    return [str(w.message)[:24] for w in caught]


@differential
def test_short_time_transforms_without_a_window_warn(torch):
    """``stft`` and ``istft`` warn when they have to take a rectangular window."""
    categories, spectra = warned("A window was not provided", torch.stft, torch.ones(8), 4, return_complex=True)
    back, _ = warned("make the inversion lossless", torch.istft, spectra, 4)
    return categories, back


@differential
def test_V_49_lists_with_out(torch):
    """V-49: a tensor in a list that requires grad is refused beside ``out=``, as one that stands alone."""
    a, out = torch.ones(2, requires_grad=True), torch.zeros(4)
    text = "functions with out=... arguments don't support automatic differentiation"
    refused = [
        raises(text, torch.cat, [a, a], out=out),
        raises(text, torch.cat, (torch.ones(2), a), out=out),
        raises(text, torch.stack, [a, a], out=torch.zeros(2, 2)),
        raises(text, torch.hstack, [a, a], out=out),
    ]
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        dual = fw.make_dual(torch.ones(2), torch.ones(2))
        refused.append(raises("Trying to use forward AD with cat", torch.cat, [dual, dual], out=out))
    with torch.no_grad():
        torch.cat([a, a * 2], out=out)
    return refused, out


@differential
def test_V_15_private_grad(torch):
    """V-15: ``_grad`` is ``grad``, with its warning for a tensor that is no leaf."""
    a = torch.ones(2, requires_grad=True)
    (a * 2).sum().backward()
    return a._grad is a.grad, warned("that is not a leaf Tensor is being accessed", lambda: (a * 2)._grad)


@differential
def test_complex_number_of_a_tensor_that_requires_grad(torch):
    """``complex(tensor)`` warns as ``float(tensor)`` does."""
    a = torch.ones(1, requires_grad=True)
    return [warned("Converting a tensor with requires_grad=True to a scalar", kind, a)[0] for kind in (float, complex)]
