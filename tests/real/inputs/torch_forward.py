"""Forward passes of a small transformer and a convolution by several threads at once: their digests."""

import hashlib
import threading

import torch

torch.manual_seed(1)
layer = torch.nn.TransformerEncoderLayer(128, 4, 512, batch_first=True)
transformer = torch.nn.TransformerEncoder(layer, 2).eval()
convolution = torch.nn.Conv2d(8, 16, 5).eval()
sequence, image = torch.randn(4, 32, 128), torch.randn(4, 8, 64, 64)
digests = {}


def forward(number):
    with torch.inference_mode():
        for _ in range(5):
            answers = transformer(sequence), convolution(image)
    digests[number] = [hashlib.sha256(a.numpy().tobytes()).hexdigest() for a in answers]


threads = [threading.Thread(target=forward, args=(number,)) for number in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(torch.get_num_threads(), "threads", *(digests[number] for number in sorted(digests)), sep="\n")
