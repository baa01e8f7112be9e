"""Calls as a user writes them, by function, method and keyword, on empty, 0-d, NaN, integer and ill-fitting operands.

Each is evaluated by both engines: values, dtypes, shapes, gradients and the kind of error are PyTorch's.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest
from op_samples import real

import retrograd
import retrograd.linalg

torch = pytest.importorskip("torch")

LEAVES = {
    "x": real(3, 4), "y": real(3, 4, start=1), "v": real(4, start=2), "w": real(4, start=3), "o": np.array(1.5),
    "s": real(3, 3) + 2 * np.eye(3), "b": real(2, 3, 3, start=1) + np.eye(3), "e": np.zeros((0, 3)),
    "e2": np.zeros((2, 0)), "n": np.array([[1.0, np.nan, 2.0], [0.0, -1.0, 3.0]]), "f": real(3, 4).astype(np.float32),
    "c": real(3, 3) + 1j * real(3, 3, start=2), "t3": real(2, 3, 4), "neg": real(2, 3, lo=-3, hi=-1),
}  # fmt: skip
"""Tensors that require a gradient, by the name they have in ``CALLS``."""
CONSTANTS = {
    "i": np.array([0, 2, 1, 0]), "k": np.array([[0, 1, 2, 0], [1, 1, 0, 2]]), "m": real(3, 4) > 0,
    "iv": np.array([3, 1, 2]), "bb": np.array([True, False, True, True]), "u8": np.array([1, 0, 3], np.uint8),
    "i32": np.array([[3, 1, 2], [5, 4, 6]], np.int32),
}  # fmt: skip
CALLS = """
x.sum(axis=1) | x.prod(axis=0) | torch.prod(x,dim=1,keepdim=True) | x.std(0) | x.std(dim=0,unbiased=False)
x.var(unbiased=False) | torch.var(x,axis=1) | x.var(1,keepdims=True) | x.amax(axis=0) | x.amin((0,1))
torch.amax(x,dim=[0,1]) | x.median(axis=1)[0] | x.max(axis=1)[0] | x.max(axis=1).indices | x.min(-1).values
x.mode()[0] | x.logsumexp(0) | torch.logsumexp(x,dim=(0,1)) | x.norm() | x.norm(p=1,dim=1) | x.norm(2,(0,1))
torch.norm(x,p=2,dim=0,keepdim=True) | x.cumsum(dim=1) | x.cumsum(axis=0) | torch.cumsum(x,0,dtype=torch.float32)
x.cumprod(1) | x.diff() | x.diff(n=2,dim=0) | e.sum() | e.sum(0) | e.sum(1) | e.prod() | e.prod(1) | e.mean()
e.mean(0) | e.std() | e.var(0) | e.amax(1) | e.amax() | e.max() | e.max(1)[0] | e.max(0)[0] | e.min() | e.median()
e.median(1)[0] | e.logsumexp(0) | e.logsumexp(1) | e.norm() | e.norm(dim=0) | e.cumsum(0) | e.cumprod(1)
e.sort(0)[0] | e.sort(1)[0] | e.topk(0,0)[0] | e.flip(0) | e.roll(1,0) | e.repeat(2,2) | e.tril() | e.t()@e
e@e.t() | e2@e | torch.linalg.svdvals(e) | torch.linalg.svd(e)[1] | torch.linalg.qr(e)[0]
torch.linalg.matrix_norm(e) | torch.linalg.vector_norm(e) | torch.linalg.pinv(e) | torch.kron(e,e)
torch.einsum('ij,jk',e2,e) | e.cummax(0)[0] | e.unfold(1,2,1) | e.unique() | e.nonzero() | e.argmax() | e.argmax(1)
torch.cat([e,s]) | torch.stack([e,e]) | e.any() | e.all() | e.all(0) | e.index_select(1,iv%3) | e.gather(1,k[:0,:])
e.masked_select(e>0) | torch.diff(e,dim=0) | torch.trapezoid(e,dim=1) | e.quantile(.5) | e.kthvalue(1,1)[0]
e.logcumsumexp(0) | torch.histc(e) | e.nansum() | e.nanmean() | torch.cov(e2) | torch.linalg.det(b[:0])
torch.linalg.inv(b[:0]) | torch.linalg.solve(b[:0],b[:0]) | torch.linalg.cholesky(b[:0])
torch.linalg.eigvals(b[:0]) | torch.linalg.eigh(b[:0])[0] | torch.linalg.slogdet(b[:0])[1]
torch.linalg.matrix_exp(b[:0]) | torch.linalg.lu_factor(b[:0])[0] | o.sum(0) | o.prod(0) | o.std() | o.var()
o.max(0)[0] | o.median(0)[0] | o.sort()[0] | o.topk(1)[0] | o.cumsum(0) | o.cumprod(-1) | o.logsumexp(0) | o.norm()
o.flip(0) | o.flip([]) | o.roll(1) | o.unique() | o.argsort() | o.index_select(0,iv[:1]*0) | o.gather(0,iv[0]*0)
o.repeat(3) | o.tile(2) | o.expand(2) | o.diff() | o.cummax(0)[0] | o.masked_select(m) | o.take(iv*0)
o.scatter(0,iv[0]*0,2.) | o.quantile(.3) | o.kthvalue(1)[0] | o.mode()[0] | o.nansum() | o.unsqueeze(0)
o.logcumsumexp(0) | o.amax(0) | o.amax() | o.aminmax()[0] | o.renorm(2,0,1.) | o.nonzero() | o[None] | o[...]
o[()] | o[True] | torch.atleast_2d(o) | torch.hstack([o,o]) | torch.diagflat(o) | torch.trace(o) | torch.inner(o,v)
torch.kron(o,v) | torch.tensordot(o,v,0) | torch.outer(o,v) | torch.dot(v,o) | o@v | n.max() | n.max(1)[0]
n.amax() | n.median() | n.sort()[0] | n.sort(descending=True)[0] | n.argsort() | n.topk(2)[0] | n.cummax(1)[0]
n.cummin(1)[1] | n.nansum(0) | n.nanmean(1) | n.nanmedian(1)[0] | n.nanquantile(.5,1) | n.quantile(.5,0)
n.unique() | n.norm() | n.norm(1) | n.norm(float('inf')) | n.logsumexp(1) | n.std(1) | n.aminmax()[1] | n.argmax()
n.argmin(1) | n.kthvalue(2)[0] | n.cumsum(1) | n.prod(1) | n.mode(1)[0] | n.logcumsumexp(1) | n.sum()
torch.isin(n,n) | n.nan_to_num().sum() | torch.cumsum(i,0) | i.cumprod(0) | i.sum() | i.prod() | i.max()
i.median() | i.float().std() | i.mean() | i.norm() | i.logsumexp(0) | i.sort()[0] | i.unique() | i.argmax()
i.any() | u8.all() | u8.sum() | u8.any(0) | i32.sum() | i32.cumsum(0) | i32.prod(1) | i32.max(1)[0] | i32.median()
i32.tril() | i32.diff() | bb.sum() | bb.cumsum(0) | bb.prod() | bb.max() | bb.any() | bb.sort()[0] | bb.unique()
bb.float().mean() | bb.amax() | bb.median() | bb.diff() | i.trace() | k.t()@k | i@i | i.outer(i) | i.bincount()
i.amax() | i.aminmax()[0] | i.logcumsumexp(0) | i.var() | k.flip(0,1) | i.quantile(.5) | i.std() | i.nansum()
i.nanmean() | i.count_nonzero() | i.renorm(2,0,1) | x.flip(0,1) | x.flip(dims=(0,)) | x.flip(-1)
x.roll(shifts=2,dims=1) | x.roll((1,2),(0,1)) | x.roll(-1) | x.rot90(1,[0,1]) | torch.rot90(x,k=3) | x.tile(2,2)
x.tile((2,)) | x.repeat((2,2)) | x.repeat(1,2,2) | x.repeat_interleave(2,dim=0) | x.repeat_interleave(iv,0)
x.repeat_interleave(3) | torch.repeat_interleave(x,iv,dim=0,output_size=6) | x.unfold(dimension=1,size=2,step=2)
x.diag() | v.diag(1) | torch.diag(x,-1) | v.diag_embed(offset=1) | x.diagonal(offset=1) | x.tril(-1)
x.triu(diagonal=2) | t3.triu() | torch.broadcast_tensors(x,v)[1] | torch.meshgrid(v,w,indexing='xy')[0]
torch.meshgrid(v,w)[1] | torch.block_diag(x,v,o) | torch.cartesian_prod(v,w) | torch.combinations(v,2)
torch.vander(v).detach() | torch.column_stack((v,w,x.t())) | torch.vstack((v,w)) | torch.dstack((x,y))
x.hsplit(2)[0] | x.vsplit([1])[1] | t3.dsplit(2)[1] | x.tensor_split(3,dim=1)[1] | x.tensor_split((1,3),1)[2]
x.chunk(3,1)[1] | x.split([1,3],1)[1] | x.unflatten(1,(2,-1)) | x.swapaxes(0,1) | x.movedim(0,1)
x.select_scatter(v,0,1) | x.slice_scatter(x[:2],0,0,2) | s.diagonal_scatter(v[:3])
torch.nn.functional.pad(x,(1,2)) | torch.nn.functional.pad(x,[1,1,2,0],value=3) | x.gather(0,k)
x.gather(dim=1,index=k.clamp(max=3)) | x.scatter(0,k,y[:2]) | x.scatter(0,k,value=1.)
x.scatter(dim=0,index=k,src=y[:2],reduce='add').detach() | x.scatter_add(0,k,y[:2])
x.scatter_reduce(0,k,y[:2],reduce='mean',include_self=False) | x.index_select(0,i) | x.index_add(0,i[:2],y[:2])
x.index_add(dim=0,index=i[:2],source=y[:2],alpha=3) | x.index_copy(0,i[:2],y[:2]) | x.index_fill(1,i[:2],3.)
x.index_fill(1,i[:2],o) | x.index_reduce(0,i[:2],y[:2],'amax') | x.masked_select(m) | x.masked_scatter(m,y)
x.masked_fill(m,1) | x.take(k) | x.take_along_dim(k,0) | x.take_along_dim(k) | x.put(i,v)
x.put(iv,v[:3],accumulate=True) | x.index_put((i,),v) | x.index_put([i,i],v,accumulate=True)
torch.index_put(x,(m,),o) | x[i] | x[[0,1]] | x[m] | x[:,[0,2]] | x[i,i] | x[...,-1] | x[None,:,None] | x[1:,::2]
x[bb[:3]] | x[:,bb] | x[iv[:2]%3,1:3] | t3[:,iv%3,iv] | t3[iv%2,:,iv] | t3[0,iv%3] | t3[:,m] | t3[0][m] | x[-1]
x[torch.tensor(1)] | x[torch.tensor(1),i] | x[5] | x[i+5] | x[0,0,0] | x[1.5] | x[:, torch.tensor([-1])]
torch.where(m,x,y) | torch.where(m,x,0.) | torch.where(m)[0] | x.argwhere() | torch.nonzero(x>0)
torch.nonzero(m,as_tuple=True)[1] | x.sort(dim=0,descending=True)[0] | x.sort(stable=True)[1]
torch.sort(x,dim=1).values | x.argsort(dim=0,descending=True) | x.argsort(stable=True,dim=1) | x.msort()
x.topk(2,largest=False)[1] | x.topk(k=2,dim=0)[0] | x.kthvalue(k=2,dim=0,keepdim=True)[0]
torch.unique(i,return_inverse=True)[1] | torch.unique(k,dim=0) | torch.unique_consecutive(i,return_counts=True)[1]
x.detach().histc(bins=4,min=-1,max=1) | torch.bucketize(x.detach(),torch.arange(-1.,2.).double())
torch.searchsorted(v.detach().sort()[0],x.detach()) | torch.isin(i,2) | torch.bincount(iv,minlength=7)
torch.histogram(x.detach(),3)[0] | torch.addmv(v,y.t(),v[:3],beta=2) | v.addmv(x.t(),v[:3]) | s.addmm(s,s,alpha=2)
torch.baddbmm(b,b,b,alpha=.5) | b.baddbmm(b,b) | s.addbmm(b,b) | x.addr(v[:3],w) | torch.einsum('ij,kj->ik',[x,y])
torch.einsum('...j,j->...',t3,v) | torch.einsum('bij,bjk->bik',b,b) | torch.einsum('ii->i',s)
torch.einsum('bii->b',b) | torch.einsum('ij,ij,ij->i',x,y,x) | torch.einsum('i,j,k->ijk',v,w,v)
torch.einsum('Ab,bC',s,s) | torch.einsum(x,[0,1],y,[0,1],[0]) | torch.einsum('ij,jk->',s,s)
torch.einsum('ij->j',x) | torch.einsum('..., ...',x,y) | torch.einsum('ij,jk,k',s,s,s[0])
torch.einsum('i,->i',v,o) | torch.einsum('ab,cd->abcd',x,y) | torch.einsum('ij,k',x,v)
torch.einsum('ijk,ij',t3,t3[:,:,0]) | torch.tensordot(t3,x,dims=([1,2],[0,1])) | torch.tensordot(x,y,dims=2)
torch.kron(s,x) | torch.inner(x,y) | v.inner(w) | v.vdot(w) | x.cross(y,dim=0) | torch.cross(x,y)
torch.linalg.cross(s,b) | s.trace() | s.det() | s.logdet() | s.slogdet()[1] | s.inverse() | x.pinverse()
torch.linalg.pinv(x,rtol=1e-3) | torch.linalg.solve(s,x) | torch.linalg.solve(b,v[:3]) | torch.linalg.solve(b,s)
torch.linalg.solve(s,b) | torch.linalg.solve_triangular(b,s,upper=False) | torch.linalg.inv(b)
torch.linalg.det(c) | torch.linalg.slogdet(c)[1] | torch.linalg.slogdet(c)[0] | torch.linalg.inv(c)
torch.linalg.solve(c,c) | torch.linalg.cholesky(c@c.mH+torch.eye(3)) | torch.linalg.eigvalsh(c+c.mH)
torch.linalg.svdvals(c) | torch.linalg.matrix_exp(c) | torch.linalg.matrix_power(b,3) | s.matrix_power(-2)
torch.linalg.matrix_norm(b) | torch.linalg.matrix_norm(b,'nuc') | torch.linalg.norm(b,dim=(1,2))
torch.linalg.norm(c,'fro') | torch.linalg.norm(x,2,dim=0) | torch.linalg.cond(b) | torch.linalg.cond(s,2)
torch.linalg.multi_dot((s,x,v)) | torch.linalg.vecdot(x,y) | torch.linalg.vecdot(c,c,dim=0)
torch.linalg.lstsq(x.t(),x.t()).solution | torch.linalg.tensorinv(torch.eye(6).double().reshape(6,2,3),ind=1)
torch.linalg.lu(s)[1] | torch.linalg.qr(x,mode='complete')[1] | torch.linalg.qr(x.t(),mode='complete')[1].detach()
torch.linalg.qr(x.detach(),mode='r')[1] | torch.linalg.eigvals(s).abs() | torch.linalg.matrix_rank(s)
torch.linalg.vector_norm(x,ord=0.5,dim=(0,)) | torch.linalg.vector_norm(f,dtype=torch.float64)
torch.norm(f,dtype=torch.float64) | s.qr()[1] | (s@s.t()).cholesky() | s.mm(x) | b.bmm(b) | b@s | s@b | v[:3]@b
b@v[:3] | s.mv(v[:3]) | f.sum(dtype=torch.float64) | f.mean(dtype=torch.float64) | f.prod(dtype=torch.float64)
f.cumprod(0,dtype=torch.float64) | f.nansum(dtype=torch.float64) | f.norm(3) | f.logsumexp(1) | f.std()
f.quantile(.2) | f.kthvalue(2)[0] | f@f.t() | f.svd()[1] | torch.linalg.solve(f[:,:3],f) | f.det() | f@x.t()
torch.mm(f,x.t()) | torch.dot(v,v[:3]) | torch.mm(x,y) | torch.linalg.inv(x) | torch.linalg.inv(s*0)
torch.linalg.cholesky(-s@s.t()) | torch.linalg.solve(s*0,s) | x.sum(5) | x.sum((0,0)) | x.cumsum(3) | x.sort(7)
x.topk(9) | x.kthvalue(9) | x.gather(0,k.float()) | x.gather(0,k+9) | x.index_select(0,k) | x.index_select(0,i+7)
x.flip(4) | x.roll(1,6) | x.repeat(2) | x.unfold(0,9,1) | x.tril().tril(-1) | v.tril() | torch.stack([x,v])
torch.cat([x,v]) | torch.hstack([x,v]) | x.masked_select(i) | x.masked_fill(i,1.) | x.scatter(0,k,f[:2])
x.index_add(0,i[:2],f[:2]) | x.median(3) | x.quantile(2.) | torch.einsum('ij,jk',x,y) | torch.einsum('i',x)
torch.tensordot(x,y,1) | torch.cross(v,w) | x.trace() | v.trace() | torch.trapezoid(x,v) | torch.trapezoid(x,dx=.3)
torch.cumulative_trapezoid(x,dim=0) | torch.gradient(x)[1] | x.cov() | x.corrcoef() | v.cov() | x.dist(y)
x.dist(y,1) | x.renorm(1,0,.5) | x.aminmax(dim=0).max | x.count_nonzero(0) | x.nanquantile(.3)
torch.std_mean(x,1)[0] | torch.var_mean(x,dim=0,correction=0)[1] | torch.var_mean(x,(0,1),unbiased=False)[0]
x.argmax(1,True) | x.argmax(dim=0,keepdim=True) | x.all() | x.any(1) | x.any((0,1)) | neg.prod()
x.logcumsumexp(dim=1) | x.cummin(0).indices | torch.cummax(x,dim=1).values | x.sum_to_size(3,1)
x.sum_to_size((1,4)) | torch.triu_indices(3,3) | torch.tril_indices(3,4,-1) | x.adjoint()
torch.unravel_index(i,(2,3))[0]
i<<2 | i>>1 | 2<<i | i32<<i32 | i.__rrshift__(9) | u8-7 | 3-u8 | torch.rsub(u8,-1) | u8.add(u8,alpha=-1)
u8.clamp(-1,2)
u8.pow(-1) | i.pow(-1) | (i+1)**-i | (i-1)**(-iv[:1]) | (-1)**-i | 2**-i | bb**True | bb.clamp(0,1) | bb.clamp(min=-1)
x//2 | x.floor_divide(y) | torch.heaviside(x,y) | torch.heaviside(x,y.float()) | torch.heaviside(x,1.)
torch.atan2(x,1.)
x.maximum(2) | torch.fmin(x,1.) | x.logical_and(1) | i.gcd(2) | x.hypot(1.) | x.ldexp(2) | x.logaddexp(1.)
x.isclose(f)
torch.allclose(x,f) | x.isclose(1.) | torch.polar(x,f) | torch.complex(i,i) | torch.polar(i,i) | c.conj().real
x.conj()
i[:0]%iv[:1]*0 | (i[:0]//(iv[:1]*0)) | c.ceil() | c.fmod(2) | c//2 | c%2 | ~x | x&1 | x.bitwise_and(1) | c.trunc()
o.mT | o.mH | o.adjoint() | c[0,0].H | bb.any([]) | m.all(()) | x.max((0,1)) | x.median((0,)) | x.mode(None)
x.prod((0,1))
x.aminmax(dim=(0,)) | x.cummax(None) | f.nanmean(dtype=torch.int64) | o.quantile(.5,0) | o.quantile(.5,1)
o.flatten(3)
o.unflatten(0,(1,1)) | x.unflatten(0,()) | o.movedim(0,0) | o.tensor_split(2) | x.tensor_split(-1) | x.split(-1)
x.tensor_split(iv[:2])[0] | x.tensor_split(iv[1])[0] | o.split_with_sizes([1]) | o.unfold(0,2,1) | o.unfold(0,5,1)
o.unfold(0,1,1) | x.unfold(0,-1,1) | torch.cat([o,o]) | torch.cat([x,o]) | x.rot90(1,(0,0)) | x.rot90(1,(0,-2))
x.squeeze(())
x.sum_to_size(5,3,4) | torch.block_diag() | torch.meshgrid(x,x) | torch.cartesian_prod(x) | torch.cartesian_prod(o,o)
x.contiguous(memory_format=torch.channels_last) | torch.linalg.vander(o,N=3) | torch.vander(u8)
torch.as_strided_scatter(o,v[:2],(2,),(1,)) | torch.as_strided_scatter(e,v[:2],(2,),(1,)) | e.__bool__()
torch.relu(n)
torch.cosine_similarity(c,c) | x.equal(1) | torch.fft.fft(o) | torch.fft.rfft(o,dim=0) | x[torch.newaxis]
torch.signal.windows.gaussian(5,std=-1.) | torch.signal.windows.kaiser(5,beta=-1.)
torch.signal.windows.hann(5,dtype=torch.float16)
torch.signal.windows.exponential(5,center=1.) | torch.signal.windows.exponential(5,tau=-1.)
torch.signal.windows.cosine(5,dtype=torch.int64)
torch.tensor([torch.finfo(d).eps for d in (torch.float16,torch.float64,torch.complex64)]) | torch.finfo(torch.int64)
torch.tensor([torch.finfo().max,torch.finfo(torch.float64).tiny,torch.finfo(torch.float32).resolution],dtype=torch.float64)
torch.tensor([[torch.iinfo(d).min,torch.iinfo(d).max,torch.iinfo(d).bits] for d in (torch.uint8,torch.int64)])
torch.iinfo(torch.bool)
v.index_select(0,iv[:2]*9) | o.index_select(0,iv) | x.index_add(0,i[:2],y) | x.index_add(0,i[:1],o)

x.index_copy(0,i[:2],y) | x.index_fill(0,i[:2]-1,1.) | x.index_fill(0,i32[0],1.) | x.index_fill(0,i+9,1.)

o.scatter(0,iv[:0],v[:0]) | o.scatter_add(0,k[:0],o) | o.gather(1,iv[0]) | x.scatter_reduce(0,iv[0]*0,y,'sum')
x[range(2)]
x[[[0,1],[2,0]]] | x[[i,i]] | x[[slice(0,2),0]] | torch.index_put(x,(i,None),o)
bb.index_add(0,iv[:2],bb[:2],alpha=-1)
torch.linalg.lu(b[:0])[1] | torch.linalg.lu_factor(c[:,:2])[0] | torch.linalg.cond(b[:0])
torch.linalg.cond(s[:0,:0],1) | torch.linalg.inv_ex(s*0).info | torch.linalg.solve_ex(s*0,s).info
torch.tensordot(o,v)
torch.linalg.inv_ex(s*0,check_errors=True) | torch.chain_matmul(v,x) | torch.linalg.multi_dot([o,v])
f.half().cholesky()
torch.linalg.ldl_factor(s.detach()+s.detach().T).pivots
torch.linalg.ldl_solve(*torch.linalg.ldl_factor(b.detach()+b.detach().mT),b)
torch.histogramdd(x.detach(),[2,3,2,2]).hist
torch.histogramdd(x.detach()[:,:2],[v.detach().sort()[0],w.detach().sort()[0]],density=True).hist
torch.svd_lowrank(x[:,:2]@y[:2],2)[1]
torch.lobpcg(s@s.T+s.T@s,1)[0] | torch.embedding_bag(x,i%3,i[:2],mode=2)
torch.embedding_bag(x,i%3,i[:2],mode=1)
torch.nn.functional.relu6(n)
torch.nn.functional.linear_cross_entropy(x,y,iv-1) | torch.nn.functional.cross_entropy(x,iv*0+1,ignore_index=1)
torch.nn.functional.cross_entropy(x,iv-1,label_smoothing=2.)
torch.nn.functional.cross_entropy(x,iv-1,size_average=False)
torch.nn.functional.nll_loss(x,iv-1,reduction='bad') | torch.nn.functional.pad(t3,(-1,2),mode='circular')
torch.nn.functional.pad(x,(1,1),mode='bad') | torch.celu(x,0.) | torch.nn.functional.softshrink(x,-1.)
torch.prelu(o,v[:1])
torch.nn.functional.batch_norm(t3[:0],None,None,training=True) | torch.nn.functional.group_norm(t3[:0],3)
torch.group_norm(t3,3)
torch.nn.functional.avg_pool2d(k[None].expand(2,2,4)-1,2) | torch.nn.functional.max_pool1d(c[None],2)
torch.nn.functional.hardshrink(n)
torch.add(x,2,y) | torch.sub(x,.5,y) | x.add(2,y) | torch.addcmul(x,2,y,y) | x.addcdiv(-.5,y,y*y+1)
torch.addcdiv(x,2,y,y*y+1) | torch.addmm(2,s,3,s,s) | torch.addmm(2,s,s,s) | s.addmm(2,3,s,s) | s.addmm(2,s,s)
torch.addmv(2,v[:3],3,s,v[:3])
v[:3].addmv(2,3,s,v[:3]) | x.addr(2,v[:3],w) | b.baddbmm(2,b,b) | s.addbmm(2,3,b,b) | torch.sub(x,2,other=y)
x.addcmul(2,tensor1=y,tensor2=y) | torch.addmm(2,s,alpha=3,mat1=s,mat2=s) | x.add(torch.tensor(2.),y) | x.add(o,y)
s.addmm(torch.tensor(2),s,s) | x.addcdiv(torch.tensor(2.),y,y*y+1) | torch.add(2,x,y) | torch.addmm(s,2,s,s)
s.addmm(s,2,s) | torch.addcmul(2,x,y,y) | torch.addcmul(x,y,2,y) | torch.addmm(s,s,2,s) | torch.addmv(v[:3],2,s,v[:3])
torch.add(x,y,2) | torch.addmm(2,s,s,s,alpha=3) | x.masked_fill(m,2+0j) | i.masked_fill(bb,2+0j) | i.masked_fill(bb,2j)
torch._foreach_norm([x,v],ord=1) | torch._foreach_norm([f],2,torch.float64) | torch._foreach_norm([x],1,dtype=None)
torch.addr(.5,x,v[:3],w) | torch.baddbmm(2,b,3,b,b) | torch.addbmm(2,s,.5,b,b) | torch.add(x,2,3)
torch.addr(f.detach(),v[:3].detach(),w.detach()) | torch.addr(x.detach(),f.detach()[:,0],w.detach(),beta=0)
x.lerp(y,f[0,0]) | x.lerp(y,iv[0]) | x.index_put((m,),f[0,0]) | x.index_put((i[:3],),f[0,0]) | torch.prod(o*0)
i32.sum_to_size(1,3) | u8.sum_to_size(1) | m.sum_to_size(3,1) | s@b | v[:3]@b | x@t3.mT | v@t3.mT | s.detach()@b
(x.abs()+1).polygamma(1) | x.abs().add(1).polygamma(n=2) | torch.bincount(iv,v[:3]) | torch.bincount(iv,v[:3].detach())
torch.ones(size=(2,),out=torch.ones(0)) | torch.zeros(out=torch.ones(0),size=[2,1],dtype=torch.float32)
torch.nn.functional.linear(t3[...,:0],x[:,:0],v[:3]) | torch.nn.functional.linear(t3[...,:0],x[:,:0])
torch.linalg.cholesky(s/0*0) | torch.tensor(float(c[0,0]*0)) | torch.tensor(int(c[0,0]*0))
"""
WRITES = """
z[0]=1. | z[i]=v | z[m]=0. | z[m]=v[0] | z[:,1]=v[:3] | z[:,[0,2]]=y[:,:2] | z[...,0]=o | z[None]=y | z[1:]=y[:2]
z[i%3,i]=v | z[bb[:3]]=2 | z[:,bb]=y[:,:3] | z[0,0]=v[0] | z[-1,-1]=5 | z[i]+=1 | z[m]*=2 | z[0]-=v | z[:,None]=1.
z[True]=3. | z[i[:2]]=f[:2] | z[m]=y[m] | z[7]=1 | z[:]=y | z[()]=y | z[...]=1 | z[::2,1:3]=y[:2,:2] | z[0]=i
z[[0,1],1:]=v[1:] | z[0,i]=v | z[i,...]=1 | z[m]=i[:2] | z[0]=x[1] | z.index_fill_(0,i,2.)
z.index_add_(0,i[:2],y[:2]) | z.index_copy_(0,i[:2],y[:2]) | z.scatter_(0,k,y[:2]) | z.scatter_(0,k,1.)
z.scatter_add_(0,k,y[:2]) | z.scatter_reduce_(0,k,y[:2],'prod') | z.masked_fill_(m,o) | z.masked_scatter_(m,y)
z.put_(i,v) | z.put_(i,v,accumulate=True) | z.index_put_((i,),v) | z.index_put_((m,),v[0])
z.index_put_((i,i),v,accumulate=True) | z.cumsum_(0) | z.cumprod_(1) | z.tril_() | z.triu_(1) | z.t_()
z.addr_(2,3,v[:3],v) | z[:,0].addmv_(2,y,v)
z.add_(2,y) | z.sub_(2,y) | z.addcmul_(2,y,y) | z.addcdiv_(-2,y,y*y+1) | z.index_put_((m,),f[0,0]) | z.lerp_(y,f[0,0])
z.addmm_(s,x,alpha=iv[1]) | z.addmv_(y,v,beta=iv[2]) | z.addr_(v[:3],v,alpha=iv[1],beta=iv[2])
z.squeeze_() | z.unsqueeze_(0) | z.transpose_(0,1) | z.renorm_(2,0,.5) | z.addmv_(y,v) | z.addr_(v[:3],v)
z.addmm_(s,x) | z.fill_diagonal_(2.) | z.index_reduce_(0,i[:2],y[:2],'mean') | z.swapaxes_(0,1)
z.index_fill_(1,i,o) | z[k]=1 | z[:,:,0]=1 | z[0]=y | z.T[0]=1 | z.view(-1)[i]=v | z.view(4,3)[1]=v[:3]
z.diagonal().copy_(v[:3]) | z[1].mul_(v) | z.select(0,1).add_(1) | z.narrow(0,0,2).zero_() | z.flatten()[2]=7
z.unfold(1,2,2).add_(1) | z.split(2)[0].mul_(2) | z.chunk(2,1)[1].exp_() | z.unbind(0)[1].add_(1)
z.expand(3,4)[0]=1 | z.as_strided((2,),(1,)).mul_(3) | z.copy_(y) | z.copy_(v) | z.fill_(o)
z.index_copy_(1,iv[:2],y[:,:2]) | z.movedim(0,1)[0]=1 | z.unflatten(1,(2,2))[:,0]=1. | z[..., None][0]=1.
z.hsplit(2)[0].zero_() | z[i[:0]]=1. | z[m&False]=v
z//=2 | z.maximum_(1) | z.atan2_(2.) | z.clamp_(max=1j) | z%=1j | z//=1j | z&=1 | z<<=1j | z.squeeze_(())
"""
"""Statements that write into ``z``, which is ``x * 1``."""


STATEMENTS = frozenset(call for line in WRITES.strip().splitlines() for call in line.split(" | "))


def evaluated(engine: Any, call: str) -> Any:
    """Results with their dtypes, and gradients of the first; or the error.  A statement's result is ``z``."""
    names: dict[str, Any] = {"torch": engine}
    names.update({name: engine.from_numpy(a.copy()).requires_grad_() for name, a in LEAVES.items()})
    leaves = list(names.values())[1:]
    names.update({name: engine.from_numpy(a.copy()) for name, a in CONSTANTS.items()})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if call in STATEMENTS:
                names["z"] = names["x"] * 1
                exec(call, names)
                call = "z"
            found = eval(call, names)
            results = list(found) if isinstance(found, (tuple, list)) else [found]
            return results, gradients(engine, results[0], leaves)
    except Exception as error:
        return error


def gradients(engine: Any, result: Any, leaves: list[Any]) -> list[Any]:
    """Gradients by the leaves for a fixed gradient of the result."""
    if not result.requires_grad:
        return []
    weights = np.cos(np.arange(result.numel())).reshape(tuple(result.shape))
    seed = engine.from_numpy(np.asarray(weights.astype(str(result.dtype).removeprefix("torch."))))
    return list(engine.autograd.grad(result, leaves, seed, allow_unused=True))


def as_array(t: Any) -> Any:
    """A tensor's values."""
    t = t.detach()
    return (t.resolve_conj() if t.is_complex() else t).numpy()


@pytest.mark.parametrize("line", (CALLS + WRITES.lstrip()).strip().splitlines(), ids=lambda line: line.split(" | ")[0])
def test_calls_are_answered_as_by_torch(line: str) -> None:
    """Values, dtypes, shapes, gradients and kinds of errors of each call of a line."""
    for call in line.split(" | "):
        theirs, ours = evaluated(torch, call), evaluated(retrograd, call)
        if isinstance(theirs, Exception):
            expected = RuntimeError if isinstance(theirs, RuntimeError) else type(theirs)
            assert isinstance(ours, expected), (call, theirs, ours)
            continue
        assert not isinstance(ours, Exception), (call, ours)
        compare(call, ours, theirs)


def compare(call: str, ours: Any, theirs: Any) -> None:
    """Two successful evaluations agree."""
    assert len(ours[0]) == len(theirs[0]), call
    for a, b in zip(ours[0], theirs[0], strict=True):
        assert (str(a.dtype), tuple(a.shape), a.requires_grad) == (str(b.dtype), tuple(b.shape), b.requires_grad), call
        np.testing.assert_allclose(as_array(a), as_array(b), 1e-5, 1e-6, err_msg=call)
    for a, b in zip(ours[1], theirs[1], strict=True):
        if a is None and b is None:
            continue
        a, b = (as_array(t if t is not None else other * 0) for t, other in ((a, b), (b, a)))
        np.testing.assert_allclose(a, b, 1e-5, 1e-6, err_msg=call)


def slope(function: Any, a: Any) -> Any:
    """The gradient of a scalar function of an array by central differences."""
    found = np.zeros_like(a)
    for at in np.ndindex(a.shape):
        step = np.zeros_like(a)
        step[at] = 1e-6
        found[at] = (function(a + step) - function(a - step)) / 2e-6
    return found


@pytest.mark.parametrize("a", [[[1.0, 2.0], [2.0, 4.0]], [[1.0, 2.0, 0.5], [2.0, 4.0, 1.0], [0.3, 0.1, 1.5]]])
def test_gradient_of_the_determinant_of_a_singular_matrix(a: Any) -> None:
    """The cofactors, where the inverse does not exist (PyTorch gives zeros)."""
    t = retrograd.tensor(a, dtype=retrograd.float64, requires_grad=True)
    t.det().backward()

    np.testing.assert_allclose(t.grad.numpy(), slope(np.linalg.det, np.array(a)), 1e-6, 1e-8)


@pytest.mark.parametrize("call", ["torch.float_power(a, b)", "a ** c", "a / c", "torch.nn.functional.softsign(d)"])
def test_second_order_of_numbers_in_mixed_precision(call: str) -> None:
    """Gradients of 0-dim tensors that were converted on the way can be differentiated again."""
    found = []
    for engine in (retrograd, torch):
        values = {"a": (1.5, "float32"), "b": (0.7, "float64"), "c": (0.4, "float64"), "d": (1 + 2j, "complex64")}
        leaves = {
            key: engine.tensor(value, dtype=getattr(engine, dtype), requires_grad=True)
            for key, (value, dtype) in values.items()
        }
        out = eval(call, {"torch": engine, **leaves})
        used = [t for key, t in leaves.items() if re.search(rf"\b{key}\b", call)]
        first = engine.autograd.grad(out.abs(), used, create_graph=True)
        second = engine.autograd.grad(sum(g.abs() for g in first), used, allow_unused=True)
        found.append([complex(g) for g in second])
    np.testing.assert_allclose(found[0], found[1], 1e-5)


@pytest.mark.parametrize("how", ["bilinear", "bicubic", "bilinear antialias", "bicubic antialias"])
def test_images_of_bytes_are_resampled(how: str) -> None:
    """To the nearest byte; PyTorch's weights are whole numbers, so it may be off by one."""
    image = (real(2, 3, 7, 9) * 60 + 128).astype(np.uint8)
    mode, _, antialias = how.partition(" ")
    made = [
        engine.nn.functional.interpolate(engine.from_numpy(image.copy()), (5, 4), mode=mode, antialias=bool(antialias))
        for engine in (retrograd, torch)
    ]

    assert made[0].dtype is retrograd.uint8
    np.testing.assert_allclose(made[0].numpy().astype(int), made[1].numpy().astype(int), atol=1)


def test_gradient_of_the_logarithm_of_a_determinant_of_zero() -> None:
    """It is not finite, as in PyTorch: backward does not fail, and what it gives can be found."""
    for engine in (retrograd, torch):
        a = engine.tensor([[1.0, 2.0], [2.0, 4.0]], requires_grad=True)
        a.logdet().backward()
        assert not engine.isfinite(a.grad).any()


def test_older_forms_of_calls_are_warned_of() -> None:
    """As in PyTorch, once a process (or each time, where asked for)."""
    for engine in (retrograd, torch):
        engine.set_warn_always(True)
        try:
            with pytest.warns(UserWarning, match="This overload of add_ is deprecated"):
                engine.ones(2).add_(2, engine.ones(2))
        finally:
            engine.set_warn_always(False)


def test_gradient_of_as_strided_scatter() -> None:
    """What was overwritten takes no gradient, what was written does (PyTorch mixes them up)."""
    x = retrograd.ones(6, requires_grad=True)
    src = retrograd.ones(2, requires_grad=True)
    retrograd.as_strided_scatter(x, src, (2,), (3,)).backward(retrograd.arange(6.0))

    assert x.grad.tolist() == [0, 1, 2, 0, 4, 5]
    assert src.grad.tolist() == [0, 3]


def test_pieces_may_be_counted_by_a_number_of_numpy() -> None:
    """``chunk`` takes any whole number."""
    counted = retrograd.arange(4.0).chunk(np.int64(2))
    assert [piece.tolist() for piece in counted] == [piece.tolist() for piece in torch.arange(4.0).chunk(np.int64(2))]
