"""A PyTorch training loop with a layer of ours, on documents of different lengths.

Each document is a row of word vectors. The layer gives attention to words by a query that is
learned, and adds up their vectors; a linear layer of PyTorch's classifies the sums. Both are
trained by PyTorch's optimizer. The layer's rows are ragged: nothing is padded.

    python examples/torch_layer.py
"""

from __future__ import annotations

import numpy as np
import torch

import flatweave as fw


def pooled(words, offsets, query):
    """For each document the sum of its word vectors, weighted by a softmax of their scores."""
    def document(vectors):
        scores = vectors @ query
        weights = fw.exp(scores - fw.max(scores, initial=-fw.inf))
        return weights @ vectors / fw.sum(weights)

    return fw.map(document, fw.Ragged(words, offsets))


def documents(count=200, width=4, seed=0):
    """Word vectors, where documents begin, and a class for each: whether its one loud word is of
    the first kind."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 12, count)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    words = rng.normal(size=(offsets[-1], width))
    words[:, 0] = 0
    loud = offsets[:-1] + rng.integers(0, lengths)
    kinds = rng.integers(0, 2, count)
    words[loud, 0] = 3
    words[loud, 1] = 2 * kinds - 1
    return torch.tensor(words), torch.tensor(offsets), torch.tensor(kinds)


def train(steps=60):
    """The losses of all steps, and how many documents are classified as they should be."""
    torch.manual_seed(0)
    words, offsets, kinds = documents()
    layer = fw.torch.function(pooled)
    query = torch.zeros(words.shape[1], dtype=words.dtype, requires_grad=True)
    classify = torch.nn.Linear(words.shape[1], 2, dtype=words.dtype)
    optimizer = torch.optim.Adam([query, *classify.parameters()], lr=0.1)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        scores = classify(layer(words, offsets, query))
        loss = torch.nn.functional.cross_entropy(scores, kinds)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    right = (scores.argmax(1) == kinds).double().mean().item()
    return losses, right


if __name__ == "__main__":
    losses, right = train()
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}, right {right:.0%}")
