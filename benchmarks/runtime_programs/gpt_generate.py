"""Text generation with a key-value cache, and with temperature, top-k and a generator."""
import json

import torch
import torch.nn as nn
import torch.nn.functional as F

DEVICE = "cuda"


class Attention(nn.Module):
    def __init__(self, dim, heads, max_len):
        super().__init__()
        self.heads, self.head_dim = heads, dim // heads
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.out = nn.Linear(dim, dim, bias=False)
        self.cache_k = torch.zeros(1, heads, max_len, self.head_dim, device="cuda")
        self.cache_v = torch.zeros(1, heads, max_len, self.head_dim, device="cuda")

    def forward(self, x, start):
        B, T, C = x.shape
        q, k, v = self.qkv(x).view(B, T, 3, self.heads, self.head_dim).permute(2, 0, 3, 1, 4)
        self.cache_k[:B, :, start:start + T] = k
        self.cache_v[:B, :, start:start + T] = v
        keys, values = self.cache_k[:B, :, :start + T], self.cache_v[:B, :, :start + T]
        scores = q @ keys.transpose(2, 3) / self.head_dim**0.5
        if T > 1:
            mask = torch.full((T, start + T), float("-inf"), device=x.device).triu(start + 1)
            scores = scores + mask
        y = scores.softmax(dim=-1) @ values
        return self.out(y.transpose(1, 2).reshape(B, T, C))


class Decoder(nn.Module):
    def __init__(self, vocab=50, dim=32, layers=2, heads=4, max_len=64):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, dim), nn.Embedding(max_len, dim)
        self.layers = nn.ModuleList([Attention(dim, heads, max_len) for _ in range(layers)])
        self.norms = nn.ModuleList([nn.LayerNorm(dim) for _ in range(layers)])
        self.head = nn.Linear(dim, vocab)

    def forward(self, tokens, start):
        positions = torch.arange(start, start + tokens.shape[1], device=tokens.device)
        x = self.tok(tokens) + self.pos(positions)
        for norm, layer in zip(self.norms, self.layers):
            x = x + layer(norm(x), start)
        return self.head(x[:, -1])


@torch.inference_mode()
def generate(model, prompt, steps, temperature=1.0, top_k=None, generator=None):
    tokens = torch.tensor([prompt], dtype=torch.long, device=DEVICE)
    current, start = tokens, 0
    for _ in range(steps):
        logits = model(current, start)
        start += current.shape[1]
        if temperature == 0:
            current = logits.argmax(-1, keepdim=True)
        else:
            logits = logits / temperature
            if top_k is not None:
                v, _ = torch.topk(logits, min(top_k, logits.size(-1)))
                logits[logits < v[:, [-1]]] = -float("Inf")
            probs = F.softmax(logits, dim=-1)
            current = torch.multinomial(probs, num_samples=1, generator=generator)
        tokens = torch.cat((tokens, current), dim=1)
    return tokens[0].tolist()


if __name__ == "__main__":
    torch.manual_seed(0)
    model = Decoder().cuda().eval()
    greedy = generate(model, [1, 2, 3], 20, temperature=0)
    torch.cuda.manual_seed(7)
    sampled = generate(model, [4, 5], 20, temperature=0.8, top_k=10)
    print("generated", len(greedy) + len(sampled), "tokens")
    print(json.dumps({"greedy": greedy, "sampled": sampled}))
