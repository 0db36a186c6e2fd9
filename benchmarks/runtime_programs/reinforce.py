"""Policy gradient on a cart and pole, simulated here, with a baseline."""
import json
import math
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")


class CartPole:
    def __init__(self, seed):
        self.rng = random.Random(seed)

    def reset(self):
        self.state = [self.rng.uniform(-0.05, 0.05) for _ in range(4)]
        return list(self.state)

    def step(self, action):
        x, v, a, w = self.state
        force = 10.0 if action == 1 else -10.0
        temp = (force + 0.05 * w * w * math.sin(a)) / 1.1
        acc = (9.8 * math.sin(a) - math.cos(a) * temp) / (0.5 * (4 / 3 - 0.1 * math.cos(a) ** 2 / 1.1))
        self.state = [x + 0.02 * v, v + 0.02 * (temp - 0.05 * acc * math.cos(a) / 1.1), a + 0.02 * w, w + 0.02 * acc]
        return list(self.state), 1.0, abs(self.state[0]) > 2.4 or abs(self.state[2]) > 0.21


class Policy(nn.Module):
    def __init__(self, s_size=4, h_size=16, a_size=2):
        super().__init__()
        self.fc1 = nn.Linear(s_size, h_size)
        self.fc2 = nn.Linear(h_size, a_size)
        self.value = nn.Linear(h_size, 1)

    def forward(self, x):
        h = F.relu(self.fc1(x))
        return F.softmax(self.fc2(h), dim=1), self.value(h)

    def act(self, state):
        state = torch.tensor(state).float().unsqueeze(0).to(device)
        probs, value = self.forward(state)
        m = Categorical(probs.cpu())
        action = m.sample()
        return action.item(), m.log_prob(action).to(device), value.squeeze()


def main():
    torch.manual_seed(0)
    env = CartPole(0)
    policy = Policy().to(device)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    scores = deque(maxlen=100)
    for episode in range(6):
        log_probs, values, rewards = [], [], []
        state = env.reset()
        for _ in range(40):
            action, log_prob, value = policy.act(state)
            state, reward, done = env.step(action)
            log_probs.append(log_prob)
            values.append(value)
            rewards.append(reward)
            if done:
                break
        scores.append(sum(rewards))
        returns, R = deque(), 0.0
        for r in reversed(rewards):
            R = r + 0.99 * R
            returns.appendleft(R)
        returns = torch.tensor(list(returns), device=device)
        returns = (returns - returns.mean()) / (returns.std() + 1e-7)
        baseline = torch.stack(values)
        advantage = returns - baseline.detach()
        loss = torch.cat([-lp * a for lp, a in zip(log_probs, advantage)]).sum() + F.mse_loss(baseline, returns)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(json.dumps({"scores": list(scores), "loss": loss.item()}))


if __name__ == "__main__":
    main()
