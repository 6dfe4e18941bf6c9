"""The names of the functions that ran, for the linker: scripts/order-functions calls this.

function_order.py offsets PROGRAM OFFSETS     writes each function's place in the program, 64 bits each, ascending
function_order.py order PROGRAM LIST RAN…     writes the names of those that ran
function_order.py check PROGRAM LIST          counts the names that are in the program; ends with 1 below nine tenths
"""

import struct
import subprocess
import sys

LEAST_SHARE = 0.9
HEADER = """\
# The functions that run in a server after its start. The linker places them side by side (docs/decisions/0088).
# scripts/order-functions writes this file.
"""


def functions(program):
    """Names by offset. Several functions of the same bytes may share an offset."""
    names = {}
    table = subprocess.run(
        ["readelf", "--symbols", "--wide", program], check=True, capture_output=True, text=True
    ).stdout
    for line in table.splitlines():
        # Number, value, size, type, binding, visibility, section, name.
        fields = line.split()
        if len(fields) == 8 and fields[3] == "FUNC" and fields[6].isdigit():
            names.setdefault(int(fields[1], 16), []).append(fields[7])
    return names


def write_offsets(program, path):
    with open(path, "wb") as file:
        for offset in sorted(functions(program)):
            file.write(struct.pack("<Q", offset))


def write_order(program, path, records):
    names = functions(program)
    ran = set()
    for record in records:
        with open(record) as file:
            for offset in file:
                ran.update(names[int(offset, 16)])
    if not ran:
        sys.exit("function_order: no function ran")
    with open(path, "w") as file:
        file.write(HEADER)
        for name in sorted(ran):
            file.write(name + "\n")
    print(f"{len(ran)} functions")


def check(program, path):
    with open(path) as file:
        listed = [line.strip() for line in file if not line.startswith("#")]
    present = {name for names in functions(program).values() for name in names}
    found = sum(name in present for name in listed)
    print(f"{found} of {len(listed)} listed functions are in the program")
    if found < LEAST_SHARE * len(listed):
        sys.exit("function_order: the list is old, and the server maps too much code: run scripts/order-functions")


match sys.argv[1:]:
    case ["offsets", program, path]:
        write_offsets(program, path)
    case ["order", program, path, *records]:
        write_order(program, path, records)
    case ["check", program, path]:
        check(program, path)
    case _:
        sys.exit(__doc__)
