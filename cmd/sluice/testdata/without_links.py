"""Runs a program for which link(2) and linkat(2) fail with EPERM, as on a file system without hard links."""

import ctypes
import os
import platform
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER = 38, 22, 2
LOAD_NUMBER, IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, FAIL_EPERM = 0x7FFF0000, 0x00050001
LINKS = {"x86_64": [86, 265], "aarch64": [37]}[platform.machine()]


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]


def main() -> None:
    code = struct.pack("HBBI", LOAD_NUMBER, 0, 0, 0)
    for n, number in enumerate(LINKS):
        code += struct.pack("HBBI", IF_EQUAL, len(LINKS) - n, 0, number)
    code += struct.pack("HBBI", RETURN, 0, 0, ALLOW) + struct.pack("HBBI", RETURN, 0, 0, FAIL_EPERM)
    held = ctypes.create_string_buffer(code, len(code))
    program = Program(len(code) // 8, ctypes.cast(held, ctypes.c_void_p))
    libc = ctypes.CDLL(None, use_errno=True)
    for call in [
        (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
        (PR_SET_SECCOMP, FILTER, ctypes.byref(program), 0, 0),
    ]:
        if libc.prctl(*call) != 0:
            sys.exit(f"the kernel takes no filter: {os.strerror(ctypes.get_errno())}")
    os.execv(sys.argv[1], sys.argv[1:])


main()
