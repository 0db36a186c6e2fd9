"""A variational autoencoder of images: transposed convolutions and a reparametrised sample."""

import torch
import torch.nn.functional as F
from torch import nn


class Vae(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1),
            nn.ELU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1),
            nn.ELU(),
            nn.Flatten(),
        )
        self.mean, self.log_variance = nn.Linear(256, 4), nn.Linear(256, 4)
        self.widen = nn.Linear(4, 256)
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(16, 8, 4, stride=2, padding=1),
            nn.ELU(),
            nn.ConvTranspose2d(8, 1, 4, stride=2, padding=1),
        )

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        h = self.encoder(x)
        mean, log_variance = self.mean(h), self.log_variance(h)
        z = mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)
        return self.decoder(self.widen(z).view(-1, 16, 4, 4)), mean, log_variance


def step(device: str) -> None:
    model = Vae().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    images = torch.rand(2, 1, 16, 16, device=device)
    decoded, mean, log_variance = model(images)
    fit = F.binary_cross_entropy_with_logits(decoded, images, reduction="sum")
    divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
    loss = fit + divergence
    loss.backward()
    optimizer.step()
