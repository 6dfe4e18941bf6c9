"""Where the CPU of a grant goes: reads the output of `perf script` and prints the share of each part, outermost first.

Usage: perf script -i FILE | python3 Benchmarks/profile.py CHECKS

CHECKS: how many signature checks a grant costs; each part is also given in them. A sample counts for the first part
below that names one of its functions.
"""
import collections
import re
import sys

PARTS = [
    ("the signature check", ["ES256Verifier", "EC_POINT_mul", "ECDSA"]),
    ("the rest of the verification", ["ProofVerifier", "ProofChecks", "SignedDataVerifier", "CompactToken"]),
    ("checkpoints", ["Checkpoint"]),
    ("the commit: pages into the log, the sync", ["sqlite3BtreeCommitPhase", "sqlite3WalFrames", "fdatasync", "pwrite"]),
    ("statements: SQLite", ["sqlite3_", "sqlite3Vdbe", "sqlite3Btree"]),
    ("statements: binding and reading", ["10TillSQLite", "7TillSQL"]),
    ("deciding and recording", [
        "PurchaseProcessor", "PurchaseRecorder", "PurchaseContext", "PurchaseReader", "EventRecorder",
        "PurchaseDecision", "OutboxTable", "DerivedID",
    ]),
    ("log lines and figures", ["LogWriter", "LineFormatter", "9TillLedger3Log", "RequestFigures"]),
    ("JSON of the request and the answer", ["8TillJSON"]),
    ("limits, key, request id", ["RequestLimiter", "TokenBuckets", "Authentication", "RAND_bytes", "KeyUses"]),
    ("sockets: receiving and sending", ["sendmsg", "recv", "epoll", "tcp_"]),
    ("HTTP: parsing, headers, answers", ["TillHTTP", "MHD_"]),
    ("the rest of the handler", ["10TillServer"]),
    ("tasks and thread changes", ["dispatch", "futex", "swift_task", "schedule", "swift_job", "completeTask"]),
    ("the rest: memory, kernel", [""]),
]
FRAME = re.compile(r"\s+[0-9a-f]+ (.+?)(\+0x[0-9a-f]+)? \(.*\)$")


def stacks(lines):
    frames, began = [], False
    for line in lines:
        if not line.strip():
            if frames:
                yield frames
            frames, began = [], False
        elif began:
            match = FRAME.match(line)
            if match:
                frames.append(match.group(1))
        else:
            began = True
    if frames:
        yield frames


def part(frames):
    return next(name for name, marks in PARTS if any(mark in frame for frame in frames for mark in marks))


def main():
    checks = float(sys.argv[1])
    counts = collections.Counter(part(frames) for frames in stacks(sys.stdin))
    total = sum(counts.values())
    if total == 0:
        sys.exit("profile.py: perf script printed no samples")
    for name, _ in PARTS:
        share = counts[name] / total
        print(f"  {name:42s} {100 * share:5.1f} %   {share * checks:4.2f} checks")
    print(f"  {total} samples")


if __name__ == "__main__":
    main()
