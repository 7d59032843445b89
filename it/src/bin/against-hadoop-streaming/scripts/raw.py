#!/usr/bin/env python3
"""A mapper and a reducer that speak raw bytes: raw.py map|reduce."""
import struct
import sys

source, sink = sys.stdin.buffer, sys.stdout.buffer


def read():
    length = source.read(4)
    return source.read(struct.unpack('>i', length)[0]) if length else None


def records():
    for key in iter(read, None):
        yield key, read()


def emit(*fields):
    for field in fields:
        sink.write(struct.pack('>i', len(field)) + field)


def lengths():
    """Of each line, by its first word; a Text begins with its length, of one byte here."""
    for offset, line in records():
        assert len(offset) == 8 and line[0] == len(line) - 1
        emit(line[1:].split(b' ', 1)[0], struct.pack('>q', line[0]))


def add():
    last, total = None, 0
    for key, length in records():
        if key != last:
            if last is not None:
                emit(last, struct.pack('>q', total))
            last, total = key, 0
        total += struct.unpack('>q', length)[0]
    if last is not None:
        emit(last, struct.pack('>q', total))


{'map': lengths, 'reduce': add}[sys.argv[1]]()
sink.flush()
