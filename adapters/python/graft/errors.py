# SPDX-License-Identifier: BSD-3-Clause
"""Statuses of graft/types.h, and the exception that carries one."""
from __future__ import annotations

import enum


class Status(enum.IntEnum):
    """GRAFT_ERROR_* without the prefix; the test compares them with the header."""

    OK = 0
    ARGUMENT = 100
    ARRAY = 101
    VALUE = 102
    CALL_ORDER = 103
    UNSUPPORTED = 104
    ABI = 105
    BUSY = 106
    ABSENT = 107
    AGAIN = 108
    MEMORY = 200
    DEVICE = 300
    COMMUNICATION = 400
    DECK_SYNTAX = 500
    DECK_KEY = 501
    DECK_TYPE = 502
    DECK_RANGE = 503
    DECK_FILE = 504
    LOAD_NOT_FOUND = 600
    LOAD_FOREIGN = 601
    LOAD_VERSION = 602
    INTERNAL = 900


class Error(RuntimeError):
    """A call that failed: `status` is a Status (or the number of a later library's), the text says what is wrong and what to try."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = Status(status) if status in Status._value2member_map_ else status


def encoded(text: str, what: str) -> bytes:
    """The text for C, which would end at a NUL. ARGUMENT."""
    if "\0" in text:
        raise Error(Status.ARGUMENT, f"{what} {text!r} has a NUL character, at which C would end it; expected text without")
    return text.encode()
