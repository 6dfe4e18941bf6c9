"""The signature checks that a grant costs, by processor: python3 baseline.py read|write FILE PROCESSOR [CHECKS ROUNDS]

`read` prints the checks, or nothing if the file has no baseline of the processor. `write` adds or replaces it.
"""
import json
import sys

command, path, processor = sys.argv[1:4]
with open(path) as file:
    baselines = json.load(file)["baselines"]
if command == "read":
    print(*[known["grantInSignatureChecks"] for known in baselines if known["processor"] == processor])
else:
    checks, rounds = sys.argv[4:]
    baselines = [known for known in baselines if known["processor"] != processor]
    baselines.append({"processor": processor, "grantInSignatureChecks": float(checks), "rounds": int(rounds)})
    baselines.sort(key=lambda known: known["processor"])
    with open(path, "w") as file:
        json.dump({"baselines": baselines}, file, indent=2)
        file.write("\n")
