"""Linear algebra of many small blocks: stacks (k, k, G) of one k × k matrix per group, and rows (G, m) beside them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse
from scipy.linalg import lapack

from dashboard.stats.linear_mixed_moments import Factor, Products

Array = np.ndarray


def invert(M: Array) -> tuple[Array, float]:
    """Invert G small symmetric matrices (k, k, G); returns the inverses and the sum of log determinants."""
    k = M.shape[0]
    if k == 1:
        return 1 / M, float(np.log(M).sum())
    if k == 2:
        det = M[0, 0] * M[1, 1] - M[0, 1] ** 2
        inverse = np.stack([np.stack([M[1, 1], -M[0, 1]]), np.stack([-M[0, 1], M[0, 0]])]) / det
        return inverse, float(np.log(det).sum())
    batch = np.moveaxis(M, 2, 0)
    return np.moveaxis(np.linalg.inv(batch), 0, 2), float(np.linalg.slogdet(batch)[1].sum())


def eliminate(L: Array, ZZ: Array) -> tuple[Array, Array, float]:
    """Return M⁻¹ and W = L M⁻¹ L' with M = I + L' ZZ L, per group, and the sum of log |M|."""
    k = L.shape[0]
    if k == 1:
        lam = L[0, 0]
        inverse, log_det = invert(1 + lam**2 * ZZ)
        return inverse, lam**2 * inverse, log_det
    inverse, log_det = invert(np.einsum("ia,ijg,jb->abg", L, ZZ, L) + np.eye(k)[:, :, None])
    return inverse, np.einsum("ai,ijg,bj->abg", L, inverse, L), log_det


def row_dot(a: Array, b: Products) -> Array:
    """Return the dot product of each row of a with that of b."""
    if isinstance(b, np.ndarray):
        return np.einsum("ij,ij->i", a, b)
    rows = np.repeat(np.arange(b.shape[0]), np.diff(b.indptr))
    return np.bincount(rows, a[rows, b.indices] * b.data, b.shape[0])


def scale_rows(T: Products, weights: Array) -> Products:
    """Return diag(weights) T."""
    if isinstance(T, np.ndarray):
        return weights[:, None] * T
    data = T.data * np.repeat(weights, np.diff(T.indptr))
    return sparse.csr_array((data, T.indices, T.indptr), shape=T.shape)


def cross(a: Products, b: Products) -> Array:
    """Return a' b as a dense array."""
    if isinstance(a, np.ndarray):
        return a.T @ b
    return (a.T.tocsr() @ b).toarray()


def total_product(a: Array, b: Products) -> float:
    """Return the sum of the element-wise product."""
    return float(np.vdot(a, b)) if isinstance(b, np.ndarray) else float(row_dot(a, b).sum())


def solve_lower(chol: Array, right: Array, *, transpose: bool = False) -> Array:
    """Solve L x = b, or L' x = b, for a lower triangle."""
    # straight to LAPACK: scipy's wrapper takes longer than these small systems do
    return lapack.dtrtrs(chol, right, lower=1, trans=int(transpose))[0] if len(right) else right


def inverse_from_cholesky(chol: Array) -> Array:
    """Return the symmetric inverse of L L'."""
    inverse, _ = lapack.dpotri(chol, lower=1)
    out = np.tril(inverse)
    return out + np.tril(inverse, -1).T


def subtract(R: Array, W: Array, T: Sequence[Products]) -> None:
    """Subtract Σ_g T_g' W_g T_g from R in place."""
    for i in range(W.shape[0]):
        for j in range(W.shape[0]):
            R -= cross(T[i], scale_rows(T[j], W[i, j]))


def inner_adjoint(S: Sequence[Products], B: Array, R_bar: Array, A_bar: Array, T_bar: list[Array]) -> Array:
    """Return the derivative by W of the inner groups, (k1, k1, C), symmetric."""
    k1, k2 = B.shape[:2]
    out = np.empty((k1, k1, B.shape[2]))
    for a in range(k1):
        SR = S[a] @ R_bar
        for b in range(k1):
            out[a, b] = -row_dot(SR, S[b])
            for i in range(k2):
                out[a, b] -= 0.5 * (B[a, i] * row_dot(T_bar[i], S[b]) + B[b, i] * row_dot(T_bar[i], S[a]))
                for j in range(k2):
                    out[a, b] -= B[a, i] * A_bar[i, j] * B[b, j]
    return out


def cholesky_gradient(factor: Factor, L: Array, ZZ: Array, inverse: Array, W: Array, W_bar: Array) -> Array:
    """Return the derivative by the free entries of L of Σ log |I + L'ZZ L| + ⟨W̄, W⟩, W = L M⁻¹ L'."""
    if factor.k == 1:
        lam, n, inv = L[0, 0], ZZ[0, 0], inverse[0, 0]
        return np.array([2 * lam * float(n @ inv + W_bar[0, 0] @ inv**2)])
    identity = np.eye(factor.k)[:, :, None]
    rest = identity - np.einsum("ijg,jkg->ikg", ZZ, W)
    inner = ZZ + np.einsum("ijg,jkg->ikg", rest, W_bar)
    full = 2 * np.einsum("ijg,jk,klg->il", inner, L, inverse)
    return np.array([full[row, column] for row, column in factor.template])
