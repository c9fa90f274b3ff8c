"""Infini-attention in numpy, one id at a time: the formulas of arXiv 2404.07143 with plain loops, fp64.

It shares no code with `slmmodel`: parameters come in by name, the loss is the sum of nats of the next ids. Cosines and
sines are rounded to fp32, as tables of rotary positions are.
"""

from __future__ import annotations

from functools import cache

import numpy as np

GATES = {
    "sigmoid": lambda b: 1 / (1 + np.exp(-b)),
    "hard_sigmoid": lambda b: np.clip(0.2 * b + 0.5, 0, 1),
    "tanh": np.tanh,
    "tanh_abs": lambda b: np.abs(np.tanh(b)),
}


def rms_norm(x, gain):
    return x / np.sqrt(np.mean(x * x, -1, keepdims=True) + 1e-5) * gain


@cache
def cos_sin(position, base, half):
    angle = position * base ** (-np.arange(half) / half)
    return [f(angle).astype(np.float32).astype(np.float64) for f in (np.cos, np.sin)]


def rotate(x, position, base):
    half = len(x) // 2
    cos, sin = cos_sin(int(position), base, half)
    left, right = x[:half], x[half:]
    return np.concatenate([left * cos - right * sin, right * cos + left * sin])


def phi(x):
    return np.where(x > 0, x, np.expm1(x)) + 1


def attention(x, p, c, documents, positions):
    """x [T, d] of one row, p: parameters of the layer, c: the configuration. Returns [T, H h]."""
    n_heads, n_kv, h, size = c["n_heads"], c["n_kv_heads"], c["head_dim"], c["segment"]
    q, k, v = ((x @ p[f"attention.{n}.weight"].T).reshape(len(x), -1, h) for n in "qkv")
    if c["qk_norm"]:
        q, k = rms_norm(q, p["attention.q_norm.gain"]), rms_norm(k, p["attention.k_norm.gain"])
    out = np.zeros((len(x), n_heads, h))
    memory, z, tag = np.zeros((n_kv, h, h)), np.zeros((n_kv, h)), None
    for start in range(0, len(x), size):
        columns = range(start, min(start + size, len(x)))
        if c["positions"] == "restart":
            positions = np.arange(len(x)) - start
        keys = {s: [rotate(k[s, group], positions[s], c["rope_base"]) for group in range(n_kv)] for s in columns}
        for t in columns:
            seen = [s for s in columns if s <= t and documents[s] == documents[t]]
            for head in range(n_heads):
                group = head // (n_heads // n_kv)
                turned = rotate(q[t, head], positions[t], c["rope_base"])
                scores = np.array([turned @ keys[s][group] for s in seen]) / np.sqrt(h)
                weights = np.exp(scores - scores.max())
                local = weights @ v[seen, group] / weights.sum()
                feature = phi(q[t, head])
                if c["memory"] != "off" and tag is not None and documents[t] == tag:
                    gate = GATES[c["gate"]](p["attention.beta"][head])
                    local = gate * (feature @ memory[group] / (feature @ z[group] + 1e-6)) + (1 - gate) * local
                out[t, head] = local
        if documents[columns[-1]] != tag:
            memory, z, tag = np.zeros_like(memory), np.zeros_like(z), documents[columns[-1]]
        before_memory, before_z = memory.copy(), z.copy()
        for t in (s for s in columns if documents[s] == tag):
            for group in range(n_kv):
                feature, value = phi(k[t, group]), v[t, group]
                if c["memory"] == "delta":
                    value = value - feature @ before_memory[group] / (feature @ before_z[group] + 1e-6)
                memory[group] += np.outer(feature, value)
                z[group] += feature
    return out.reshape(len(x), -1)


def logits(p, c, ids, documents, positions):
    """[T, V] of one row of ids."""
    x = p["embed.weight"][ids]
    for layer in range(c["n_layers"]):
        own = {n.removeprefix(f"blocks.{layer}."): v for n, v in p.items() if n.startswith(f"blocks.{layer}.")}
        x = x + attention(rms_norm(x, own["norm1.gain"]), own, c, documents, positions) @ own["attention.o.weight"].T
        inner = rms_norm(x, own["norm2.gain"])
        gate = inner @ own["mlp.gate.weight"].T
        x = x + (gate / (1 + np.exp(-gate)) * (inner @ own["mlp.up.weight"].T)) @ own["mlp.down.weight"].T
    return rms_norm(x, p["norm.gain"]) @ p["embed.weight"][: c["n_vocab"]].T


def nats(p, c, ids, documents, positions):
    """Sum of the nats of every next id."""
    scores = logits(p, c, ids, documents, positions)[:-1]
    top = scores.max(1, keepdims=True)
    log_z = np.log(np.exp(scores - top).sum(1)) + top[:, 0]
    return (log_z - scores[np.arange(len(scores)), ids[1:]]).sum()
