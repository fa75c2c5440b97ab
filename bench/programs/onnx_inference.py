#!/usr/bin/env python3
"""Inference of a few dense layers with random weights by ONNX Runtime, as one of several servers.

Started by closed_loop.py, as torch_inference.py is. --threads is the width of the session's own pool
of threads, which look for work by spinning before they sleep, as by default.
"""

import argparse
import json
import sys
import time


def model(width, layers, batch, numpy):
    from onnx import TensorProto, helper, numpy_helper
    chance = numpy.random.default_rng(1)
    nodes, weights, name = [], [], "x"
    for i in range(layers):
        weight = 0.05 * chance.standard_normal((width, width))
        weights.append(numpy_helper.from_array(weight.astype(numpy.float32), f"w{i}"))
        nodes += [helper.make_node("MatMul", [name, f"w{i}"], [f"product{i}"]),
                  helper.make_node("Relu", [f"product{i}"], [f"y{i}"])]
        name = f"y{i}"
    shape = [batch, width]
    graph = helper.make_graph(nodes, "layers",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)],
                              weights)
    built = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return built.SerializeToString(), chance.standard_normal(shape).astype(numpy.float32)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1, help="serve for so long (default 1)")
    parser.add_argument("--threads", type=int, default=1, help="of the session (default 1)")
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--width", type=int, default=512, help="of the model (default 512)")
    parser.add_argument("--batch", type=int, default=64, help="rows of a request (default 64)")
    options = parser.parse_args()
    try:
        import numpy
        import onnx  # noqa: F401
        import onnxruntime
    except ImportError as missing:
        sys.exit(f"onnx_inference.py: {missing.name} is missing: "
                 "name a Python that has it in ROOST_ONNX_PYTHON")

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = options.threads
    built, rows = model(options.width, options.layers, options.batch, numpy)
    session = onnxruntime.InferenceSession(built, settings, providers=["CPUExecutionProvider"])
    for _ in range(5):
        session.run(None, {"x": rows})
    print("ready", flush=True)
    begin = float(sys.stdin.readline())
    time.sleep(max(0.0, begin - time.monotonic()))
    latencies = []
    issued = begin
    while True:
        answer, = session.run(None, {"x": rows})
        now = time.monotonic()
        if now - begin > options.seconds:
            break
        latencies.append(now - issued)
        issued = now
    print(json.dumps({
        "program": "onnx_inference", "threads": options.threads,
        "checksum": f"{float(abs(answer).sum()):.4g}", "latencies": latencies,
    }))


if __name__ == "__main__":
    main()
