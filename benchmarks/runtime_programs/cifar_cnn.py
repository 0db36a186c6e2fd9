"""A small convolutional network on synthetic 32x32 pictures."""
import json

import torch
from torch import nn

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
print(f"Using {device} device")


class CNN(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.classifier = nn.Linear(32 * 8 * 8, classes)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


model = CNN().to(device)
print(model)
criterion = nn.CrossEntropyLoss().to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)

x = torch.randn(64, 3, 32, 32)
y = torch.randint(0, 10, (64,))
losses = []
for epoch in range(3):
    running = 0.0
    for i in range(0, len(x), 16):
        inputs, targets = x[i:i + 16].to(device), y[i:i + 16].to(device)
        optimizer.zero_grad()
        outputs = model(inputs)
        loss = criterion(outputs, targets)
        loss.backward()
        optimizer.step()
        running += loss.item()
    losses.append(running)

model.eval()
with torch.no_grad():
    predicted = model(x.to(device)).argmax(1).cpu()
accuracy = (predicted == y).float().mean().item()
print(json.dumps({"losses": losses, "accuracy": accuracy}))
