#!/usr/bin/env python3
"""PyTorch inference of a small transformer with random weights, as one of several servers.

Started by closed_loop.py. OMP_NUM_THREADS sets the width of PyTorch's pool, and of BLAS's up to the
number of cores.
"""

import sys

from served import parser, serve


def main():
    options = parser(__doc__)
    options.add_argument("--clients", type=int, default=1, metavar="N",
                         help="clients with a request under way each, first come, first served")
    options.add_argument("--layers", type=int, default=2)
    options.add_argument("--width", type=int, default=256, help="of the model (default 256)")
    options = options.parse_args()
    try:
        import torch
    except ImportError:
        sys.exit("torch_inference.py: PyTorch is missing: install python3-torch")

    torch.manual_seed(1)
    layer = torch.nn.TransformerEncoderLayer(options.width, 4, 4 * options.width, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, options.layers).eval()
    batch = torch.randn(8, 64, options.width)
    with torch.inference_mode():
        serve("torch_inference", lambda _: model(batch), options.seconds, warm_up=3,
              clients=options.clients, checksum=lambda answer: answer.abs().sum(),
              threads=torch.get_num_threads())


if __name__ == "__main__":
    main()
