# A domain-adversarial classifier of quantized features; its layers are custom Functions.
import torch

torch.manual_seed(0)


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -ctx.strength * grad, None


class Quantize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, levels):
        ctx.save_for_backward(x)
        return torch.round(x.clamp(-1, 1) * levels) / levels

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x.abs() <= 1), None


class BatchNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, gain, bias, running_mean):
        mean, var = x.mean(0), x.var(0, unbiased=False)
        running_mean.mul_(0.9).add_(0.1 * mean)
        scale = (var + 1e-5).rsqrt()
        normal = (x - mean) * scale
        ctx.save_for_backward(normal, gain, scale)
        return normal * gain + bias

    @staticmethod
    def backward(ctx, grad):
        normal, gain, scale = ctx.saved_tensors
        grad_normal = grad * gain
        inner = grad_normal - grad_normal.mean(0) - normal * (grad_normal * normal).mean(0)
        return inner * scale, (grad * normal).sum(0), grad, None


class Lookup(torch.autograd.Function):
    @staticmethod
    def forward(ctx, table, rows, padding):
        ctx.save_for_backward(rows)
        ctx.shape, ctx.padding = table.shape, padding
        return table[rows]

    @staticmethod
    def backward(ctx, grad):
        (rows,) = ctx.saved_tensors
        found = torch.zeros(ctx.shape, dtype=grad.dtype).index_add(0, rows, grad)
        found[ctx.padding] = 0
        return found, None, None


class CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, target):
        p = logits.softmax(-1)
        chosen = torch.arange(len(target))
        loss = -p[chosen, target].log().mean()
        p[chosen, target] -= 1
        ctx.save_for_backward(p / len(target))
        return loss, p

    @staticmethod
    def backward(ctx, grad, _):
        return grad * ctx.saved_tensors[0], None


table = torch.randn(12, 6, requires_grad=True)
gain, bias = torch.ones(6, requires_grad=True), torch.zeros(6, requires_grad=True)
label = (torch.randn(6, 3) * 0.3).requires_grad_()
domain = (torch.randn(6, 2) * 0.3).requires_grad_()
running_mean = torch.zeros(6)
parameters = [table, gain, bias, label, domain]
opt = torch.optim.SGD(parameters, lr=0.05)
rows = torch.randint(0, 12, (16,))
rows[3] = rows[9] = 0
classes, domains = torch.randint(0, 3, (16,)), torch.arange(16) % 2
for step in range(3):
    hidden = BatchNorm.apply(Lookup.apply(table, rows, 0), gain, bias, running_mean)
    code = Quantize.apply(torch.tanh(hidden), 7)
    class_loss, _ = CrossEntropy.apply(code @ label, classes)
    domain_loss, _ = CrossEntropy.apply(Reverse.apply(hidden, 0.3) @ domain, domains)
    opt.zero_grad()
    (class_loss + domain_loss).backward()
    opt.step()
print(f"{running_mean.abs().sum().item() >= 0} {len(parameters)}")
