"""Serves requests in batches from a queue, in half precision, in a thread of its own."""
import json
import queue
import threading

import torch
import torch.nn as nn


class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(200, 32)
        self.net = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, ids):
        return self.net(self.embed(ids).mean(dim=1)).squeeze(-1)


class Server(threading.Thread):
    def __init__(self, model, device_id=0, max_batch=4):
        super().__init__(daemon=True)
        self.device = torch.device("cuda:%d" % device_id)
        self.model = model.half().to(self.device).eval()
        self.requests, self.max_batch = queue.Queue(), max_batch

    def run(self):
        torch.cuda.set_device(self.device)
        while True:
            batch = [self.requests.get()]
            while len(batch) < self.max_batch and not self.requests.empty():
                batch.append(self.requests.get_nowait())
            if batch[-1] is None:
                return
            self.answer([item for item in batch if item is not None])

    @torch.inference_mode()
    def answer(self, batch):
        for ids, reply in batch:
            tensor = torch.as_tensor(ids, dtype=torch.long).unsqueeze(0).to(self.device, non_blocking=True)
            score = self.model(tensor)
            reply.put(score.float().cpu().item())

    def ask(self, ids):
        reply = queue.Queue()
        self.requests.put((ids, reply))
        return reply.get(timeout=60)


def main():
    torch.manual_seed(25)
    server = Server(Ranker())
    server.start()
    # warm up, as the first call on a GPU is slow
    server.ask([0])
    scores = [server.ask([(7 * i + j) % 200 for j in range(5)]) for i in range(12)]
    server.requests.put(None)
    server.join(timeout=60)
    best = max(range(len(scores)), key=scores.__getitem__)
    print(json.dumps({"scores": scores, "best": best, "alive": server.is_alive()}))


if __name__ == "__main__":
    main()
