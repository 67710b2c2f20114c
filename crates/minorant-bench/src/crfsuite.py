"""Trains CRFsuite on sequences of (label, attributes...) lines: python crfsuite.py FILE C2 MOST.

Prints its last loss, the number of iterations and the processor seconds of the training alone.
"""

import json
import os
import sys
import tempfile
import time

import pycrfsuite

path, c2, most = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
trainer.set_params({"c1": 0.0, "c2": c2, "max_iterations": most})
with open(path, encoding="utf-8") as file:
    for block in file.read().split("\n\n"):
        rows = [line.split("\t") for line in block.splitlines() if line]
        if rows:
            trainer.append([row[1:] for row in rows], [row[0] for row in rows])
with tempfile.TemporaryDirectory() as folder:
    start = time.process_time()
    trainer.train(os.path.join(folder, "model"))
    seconds = time.process_time() - start
last = trainer.logparser.last_iteration
print(json.dumps({"loss": last["loss"], "iterations": last["num"], "seconds": seconds}))
